# Leaks and caches: what a session suspects in itself after thousands of
# transactions.  bench/suspects does the same at full length.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $workload = "$FindBin::RealBin/../../bench/suspects/workload";
my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 4kB
max_locks_per_transaction = 1000
CONF

# Run SQL that the workload script prints, and then a query.
sub after_workload
{
	my ($query, @arguments) = @_;
	my $sql = '';

	IPC::Run::run([ $^X, $workload, @arguments ], '>', \$sql) or die $?;
	return $node->safe_psql('postgres', "\\o /dev/null\n$sql\n\\o\n$query");
}

after_workload('', 'setup');
my $suspects = q{
	SELECT verdict, context_name, function_of(site), score > 0.5,
		survival > 0.99, transactions > 8, coalesce(bytes_per_hour > 0, true), query LIKE 'SELECT leak_top%',
		translate(evidence, E'\n', ' ') ~ '^\d+ \w+ \(.*\) of the \d+ \w+ allocated here has not been freed, and it (keeps growing|kept growing until [^.]*)\. '
	FROM pg_leakhunt_suspects WHERE pid = pg_backend_pid()
	ORDER BY context_name COLLATE "C"};
{
	# of the smallest leak 4 kB take 60 samples, whose two halves may differ by half
	local $ENV{PGOPTIONS} = '-c pg_leakhunt.sample_interval=512';

	is( after_workload($suspects, 'leaks', 1, 5000), join("\n",
			map { "leak|$_|t|t|t|t|t|t" } 'CacheMemoryContext|leaking_in',
			'TopMemoryContext|leaking_top',
			'leaker leaked context|leaking_in'),
		'three leaks are suspects, and nothing else');
}
is(after_workload($suspects, 'clean', 1, 5000), '', 'caches are no suspects');

# Of many statements none shows by itself, all together grow.  That growth is
# steady is not known, so that its score is not that of a leak.
my $texts = join "\n", map { "SELECT leak_cache(100, 100) AS statement_$_;" } 1 .. 400;
is( $node->safe_psql(
		'postgres',
		"SET pg_leakhunt.sample_interval = '16kB';\n\\o /dev/null\nSELECT pg_leakhunt_baseline(pg_backend_pid());\n$texts\n\\o\n" . q{
		SELECT verdict, context_name, function_of(site), score > 0.5,
			translate(evidence, E'\n', ' ') ~ 'more than at the baseline\. (With rounding[^.]*\. )?Each of \d+ statements has too little of it to tell'
		FROM pg_leakhunt_suspects WHERE pid = pg_backend_pid()}),
	'growing|CacheMemoryContext|leaking_in|f|t',
	'a leak by many statements is growing');

# Those that differ in a literal are one, also where the server computes no query ids.
is( $node->safe_psql(
		'postgres',
		"SET pg_leakhunt.sample_interval = '16kB';\n\\o /dev/null\n"
		  . join("\n", map { "SELECT leak_cache(100, 100) WHERE $_ = $_;" } 1 .. 400)
		  . "\n\\o\n" . q{
		SELECT verdict, function_of(site), query FROM pg_leakhunt_suspects WHERE pid = pg_backend_pid();
		SELECT count(*), count(query_id), sum(live_bytes) > 2000000 FROM (
			SELECT query_id, min(query) AS query, sum(live_bytes) AS live_bytes FROM pg_leakhunt_report(pg_backend_pid(), false)
			GROUP BY query_id, CASE WHEN query_id IS NULL THEN query END) statements
			WHERE query LIKE 'SELECT leak_cache%'}),
	"leak|leaking_in|SELECT leak_cache(100, 100) WHERE 1 = 1;\n1|0|t",
	'a leak by statements that differ in their literals is one leak');

# In a single transaction growth since the baseline is all that can be said, and when
# that was.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe('SELECT leak_top(100, 1000)');
my $before = $node->safe_psql('postgres', "SELECT clock_timestamp(); SELECT pg_leakhunt_baseline($pid)") =~ s/\n.*//sr;
my $after = ask($node, 'SELECT clock_timestamp()');
$session->query_safe('SELECT leak_top(100, 20000)');
is( $node->safe_psql(
		'postgres',
		"SELECT verdict, function_of(site), score > 0.5, translate(evidence, E'\\n', ' ') LIKE '% more than at the baseline. Too little has happened %' FROM pg_leakhunt_suspects WHERE pid = $pid"
	),
	'growing|leaking_top|f|t',
	'a site that grew since the baseline is growing');
is( ask($node, "SELECT growth_bytes > 1000000, since BETWEEN '$before' AND '$after', transactions, process_state FROM pg_leakhunt_suspects WHERE pid = $pid"),
	't|t|2|live',
	'a growing site has the time of its baseline, and the number of transactions');

# Without a baseline growth is not known, and a leak is one all the same.
my $leak = $node->background_psql('postgres');
my $leak_pid = session_pid($leak);
$leak->query_safe("SET pg_leakhunt.sample_interval = '16kB'");
$leak->query_safe('SELECT leak_top(1000, 1000)') for 1 .. 20;
is( ask($node, "SELECT verdict, growth_bytes, since, transactions BETWEEN 19 AND 21 FROM pg_leakhunt_suspects WHERE pid = $leak_pid"),
	'leak|||t',
	'a leak is found without a baseline');
$leak->quit;
$session->quit;

$node->stop;
done_testing();
