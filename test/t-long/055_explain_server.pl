# What pg_leakhunt_explain says of a server as a whole, of processes that are alike, and
# to programs.  Needs several sessions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.sample_interval = 16kB\n");
ask($node, 'CREATE ROLE stranger LOGIN');

# Sessions of a pool that do the same, and one that keeps much.
sub keeping_session
{
	my ($application, $times) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SET application_name = '$application'");
	$session->query_safe("SELECT leak_top(1000, $times)");
	return $session;
}
my @pool = map { keeping_session('pool', 2000) } 1 .. 5;
my $importer = keeping_session('import', 45000);
my @pool_pids = map { session_pid($_) } @pool;
my $import_pid = session_pid($importer);

my $server = ask($node, 'SELECT explanation FROM pg_leakhunt_explain() WHERE pid IS NULL');
like($server, qr/^\d+ processes of this server have \d+ MB of private memory in all\.$/m,
	'the server is told of with the memory of all processes');
like($server, qr/^(The server's control group|No control group counts this server's memory\. The machine) uses \d+ MB.*: .*MB of private memory, /m,
	'what counts its memory is told of by parts');
like($server, qr/^Shared memory of the server: \d+ \w+ of the \d+ MB that shared_buffers allows/m, 'and so is its shared memory');
like($server, qr/^Verdict: held at leaking_top \(leaker\.c:\d+\) in TopMemoryContext\. In 1 process, that is 4\d MB\.$/m,
	'the causes over all processes are told with what they hold');
like($server, qr/^5 processes of type client backend, application pool are alike: they have \d+ kB each on average, the largest \d+ kB, and no finding\. Only the largest is listed\.$/m,
	'processes that are alike are told of once');
like($server, qr/^\d+ processes have allocated too little to tell; \d+ \w+ of private memory in all\.$/m,
	'processes without a profile are told of together');
is(ask($node, 'SELECT count(pid) FROM pg_leakhunt_explain() WHERE pid IN (' . join(', ', @pool_pids) . ')'),
	1, 'one of the processes that are alike is listed');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_explain() WHERE pid = $import_pid AND explanation LIKE '%Verdict: held at leaking_top%'"),
	1, 'a process that differs is listed with its verdict');
# Which processes have none is the server's affair: a checkpointer may have one.
my $listed = ask($node, "SELECT string_agg(pid::text, ', ') FROM pg_leakhunt_explain()");
is( ask($node, "SELECT count(*) > 0, count(*) FILTER (WHERE pid IN ($listed)) FROM pg_leakhunt_processes WHERE state = 'small'"),
	't|0',
	'a process without a profile is not listed');
like(ask($node, "SELECT explanation FROM pg_leakhunt_explain($pool_pids[0])"), qr/^$pool_pids[0], client backend/,
	'a process that is not listed is explained by its pid');
unlike(ask($node, "SELECT explanation FROM pg_leakhunt_explain($import_pid)"), qr/of this server/,
	'the explanation of a process does not begin with the server');

# A role sees its own processes, and is told so.
my ($exit, $stdout, $stderr) = $node->psql('postgres', 'SELECT explanation FROM pg_leakhunt_explain()',
	extra_params => [ '-U', 'stranger' ]);
like($stdout, qr/^1 process of this server that you may see has \d+ \w+ of private memory in all\.\nThere is no finding(?:, as too little is known of it)?\.$/m,
	'a role is told of the processes that it may see');

# Programs read figures and sentences.
is( ask($node, qq{
		SELECT (o->>'private_bytes')::bigint > 40000000, (o->>'context_bytes')::bigint > 40000000,
			o->>'application_name', (o->>'alive')::bool, jsonb_array_length(o->'contexts') > 1,
			o->'contexts'->0->>'name', o->'findings'->0->>'verdict', o->'findings'->0->>'context_name',
			(o->'findings'->0->>'bytes')::bigint > 40000000, rtrim(o->'findings'->0->>'query', E';\n'),
			o->'findings'->0->>'bytes_per_hour', o->'sentences'->>0 LIKE '$import_pid, client backend%'
		FROM (SELECT explanation::jsonb AS o FROM pg_leakhunt_explain($import_pid, format => 'json')) j}),
	't|t|import|t|t|TopMemoryContext|held|TopMemoryContext|t|SELECT leak_top(1000, 45000)||t',
	'an object has the figures, the finding and the sentences of a process');
is( ask($node, q{
		SELECT count(*) = count(DISTINCT o->>'pid'), count(*) FILTER (WHERE o->>'application_name' = 'pool'), bool_and(o ? 'sentences')
		FROM (SELECT explanation::jsonb AS o FROM pg_leakhunt_explain(format => 'json')) j}),
	't|5|t',
	'there is an object of each process');
($exit, $stdout, $stderr) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_explain(1, 'xml')");
like($stderr, qr/ERROR:  unrecognized format "xml"\nHINT:  Valid formats are text and json\./, 'another format is an error');

# A process that sleeps in its statement counts when it is asked about: what malloc gives out
# comes by nobody here, and nothing else is allocated until the end of the statement.  Each
# chunk is a mapping, of which a page is written to.
define_malloc_users($node);
my $uncounted = $node->background_psql('postgres', on_error_stop => 0);
my $uncounted_pid = session_pid($uncounted);

# The explanation of the session while it sleeps, after its statement has called that.
sub explained_asleep
{
	my ($call) = @_;

	# the end of a statement that takes longer than counting may is counted
	$uncounted->query('SELECT leak_top(1000, 2000), pg_sleep(0.5)');
	$uncounted->query_until(qr/begun/, "\\echo begun\nSELECT $call, pg_sleep(1000);\n");
	$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $uncounted_pid")
	  or die 'the session does not sleep';
	my $explanation = explained($uncounted_pid);
	ask($node, "SELECT pg_cancel_backend($uncounted_pid)");
	return $explanation;
}

sub explained
{
	my ($pid) = @_;

	return ask($node, "SELECT explanation FROM pg_leakhunt_explain($pid)");
}
like(explained_asleep('hold_malloc(140000, 12500)'), qr/^It has .* 1\d{3} MB from malloc outside of them.*; 1\d{3} MB of that takes no memory yet, as it was not written to\./m,
	'a process that sleeps counts when it is asked about');
like(explained_asleep('release_malloc()'), qr/^It has .* \d+ kB from malloc outside of them/m, 'again when it has become smaller');

# One that is stopped can't, and its figures are of another moment.
$uncounted->query_until(qr/begun/, "\\echo begun\nSELECT leak_top(1000, 2000), pg_sleep(1000);\n");
$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $uncounted_pid")
  or die 'the session does not sleep';
kill 'STOP', $uncounted_pid;
ask($node, 'SELECT pg_sleep(1.5)');
like(explained($uncounted_pid), qr/^When it last counted its memory, \d+ s ago, it had .*\. Its private memory was \d+ [kM]B then\./m,
	'a process that is stopped is told as of its last count');
kill 'CONT', $uncounted_pid;
like(explained($uncounted_pid), qr/^It has /m, 'and as of now when it goes on');
ask($node, "SELECT pg_cancel_backend($uncounted_pid)");
$uncounted->query('BEGIN');
like(explained($uncounted_pid), qr/^It has /m, 'a process that is idle in its transaction counts as well');
$uncounted->query('COMMIT');

# A session that has only had a library take much has no profile at the default interval,
# but is not too small to be told of.
my $default = new_server('default');
define_malloc_users($default);
my $fresh = $default->background_psql('postgres', on_error_stop => 0);
my $fresh_pid = session_pid($fresh);
$fresh->query_until(qr/begun/, "\\echo begun\nSELECT hold_malloc(140000, 12500), pg_sleep(1000);\n");
$default->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $fresh_pid")
  or die 'the session does not sleep';
$server = ask($default, "SELECT string_agg(explanation, E'\n' ORDER BY pid NULLS FIRST) FROM pg_leakhunt_explain() WHERE coalesce(pid, $fresh_pid) = $fresh_pid");
ask($default, "SELECT pg_cancel_backend($fresh_pid)");
like($server, qr/^There is no finding, as too little is known of any of them\.\n1 process has not counted memory that is mostly outside of memory contexts; [45]\d MB of private memory in all\.$/m,
	'a large process without a profile is told of');
like($server, qr/^$fresh_pid, client backend.*\nVerdict: none yet\. Almost all of its private memory is outside of memory contexts: .*\nNext: .* SELECT pg_cancel_backend\($fresh_pid\)/m,
	'and listed by itself');
$fresh->quit;
$default->stop;

$_->quit for @pool, $importer, $uncounted;
$node->stop;
done_testing();
