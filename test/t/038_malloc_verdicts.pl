# What is said of malloc where pg_leakhunt_malloc.so is preloaded, and where it is not:
# verdicts, explanations, checks, dumps, pictures.  Needs servers that are started with
# a library preloaded.  That the figures are true is what test 037 holds against malloc.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.sample_interval = '64kB'\n");

# Start the server, with the library or without.
sub start_with
{
	my %variables = @_;

	local %ENV = (%ENV, %variables);
	$node->start;
}

start_with(preloaded($node));
define_leakers($node);
define_malloc_users($node);
define_corner_cases($node);
my ($has_perl) = $node->psql('postgres', 'CREATE EXTENSION plperlu') == 0;
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION remember(kilobytes int) RETURNS void LANGUAGE plperlu AS
		$$ push @{ $_SHARED{kept} }, 'x' x ($_[0] * 1000) $$;
	CREATE FUNCTION forget() RETURNS void LANGUAGE plperlu AS
		$$ delete $_SHARED{kept}; return $$}) if $has_perl;

# A session that runs a statement so many times, with a rest after each, and its pid.
sub session_of
{
	my ($statement, $times, $rest) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	repeat($session, $statement, $times, $rest);
	return ($session, $pid);
}

sub repeat
{
	my ($session, $statement, $times, $rest) = @_;

	$session->query_safe("$statement; SELECT pg_sleep(${\($rest // 0.06)});") for 1 .. $times;
}

# The verdict on malloc as a whole goes by the history, which has a point per second.
my $long_rest = 0.5;

# What a process is suspect of, one finding per line, as "verdict context function".
sub suspects
{
	my ($pid, $least) = @_;

	return ask(
		$node, qq{
		SELECT concat_ws(' ', verdict, context_name, function_of(site))
		FROM pg_leakhunt_suspects WHERE pid = $pid AND live_bytes >= ${\($least // 0)}});
}

# One column of the finding on a process that is about most.
sub largest_suspect
{
	my ($pid, $column) = @_;

	return ask($node, "SELECT $column FROM pg_leakhunt_suspects WHERE pid = $pid ORDER BY live_bytes DESC LIMIT 1");
}

# What is said of a process, in one line.
sub explanation
{
	my ($pid) = @_;

	return ask($node, "SELECT explanation FROM pg_leakhunt_explain($pid)") =~ s/\s+/ /gr;
}

# A leak of a library's is one of its call site.
my ($session, $pid) = session_of('SELECT hold_malloc(100000, 20)', 20);
is(suspects($pid), 'malloc [malloc] holding_malloc', 'a call site of malloc is a suspect');
is_near(largest_suspect($pid, 'live_bytes'), 8_000_000, 40_000_000, 'with what it holds');
is(largest_suspect($pid, 'query'), 'SELECT hold_malloc(100000, 20);', 'with its statement');
ok(largest_suspect($pid, q('hold_malloc' = ANY (functions(stack)))) eq 't', 'and with its stack');
like(largest_suspect($pid, 'evidence'),
	qr/^Of \d\d MB allocated there it keeps \d\d MB \(.*, and goes on: .* Next: report the site/,
	'its evidence is that of a leak');
unlike(largest_suspect($pid, 'evidence'), qr/librar/, 'and accuses no library');
like(explanation($pid),
	qr{Verdict: malloc at holding_malloc(?: \([^)]*\))? in \[malloc\], which holds \d+% of all that is sampled\. Of \d\d MB allocated there .* Statement: SELECT hold_malloc\(100000, 20\); Next: report the site},
	'the explanation says the same');

# What is beside it.
my $row = process_row($node, $pid);
ok($row->{malloc_tracked}, 'malloc is tracked');
is($row->{malloc_untracked_bytes}, 0, 'there are no other threads');
cmp_ok($row->{context_bytes}, '<', 10_000_000, 'contexts do not have it');
is( ask($node, "SELECT lifetime, instances IS NULL, context_bytes IS NULL, live_bytes > 30000000 FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = '[malloc]'"),
	'process|t|t|t',
	'it stands beside the contexts, as none of these');
is( ask($node, "SELECT (SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $pid) = sum(live_bytes) FROM pg_leakhunt_report($pid)"),
	't', 'live_bytes are those of all call sites, of malloc or not');

# Growth since a baseline, dumps and pictures have it.
ask($node, "SELECT pg_leakhunt_baseline($pid)");
repeat($session, 'SELECT hold_malloc(100000, 20)', 5);
my $growth = ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]'");
is_near($growth, 4_000_000, 10_000_000, 'growth since a baseline');
my $dump = ask($node, "SELECT pg_leakhunt_dump($pid)") =~ s{.*/}{}r;
is( ask($node, "SELECT count(*), sum(live_bytes) FROM pg_leakhunt_read_dump('$dump') WHERE context_name = '[malloc]' AND lifetime = 'process'"),
	ask($node, "SELECT count(*), sum(live_bytes) FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]'"),
	'a dump has the same sites');
like(slurp_file((glob $node->data_dir . "/pg_leakhunt/$pid.*.heap")[0]),
	qr/^# malloc_tracked=1 malloc_live_bytes=[1-9]\d+ malloc_sampled_bytes=[1-9]\d+ malloc_sampled_error=[1-9]\d+ malloc_untracked_bytes=0$/m,
	'and what is known of malloc');
repeat($session, 'SELECT hold_malloc(100000, 20)', 5);
my $later = ask($node, "SELECT pg_leakhunt_dump($pid)") =~ s{.*/}{}r;
is_near(
	ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$dump', '$later') WHERE context_name = '[malloc]' AND site ~ '^holding_malloc'"),
	4_000_000, 10_000_000, 'two dumps have the difference');
for my $picture ('flamegraph', 'folded')
{
	like(ask($node, "SELECT pg_leakhunt_$picture($pid, context => true)"),
		qr/\[malloc\][^\n]*\n?.*holding_malloc/s, "$picture shows it");
}
is(ask($node, "SELECT name FROM pg_leakhunt_top($pid) ORDER BY flat_bytes DESC LIMIT 1"),
	'holding_malloc', 'the top is the call site');
is(ask($node, "SELECT position('holding_malloc'::bytea IN pg_leakhunt_pprof($pid)) > 0"), 't', 'pprof has it');
is(ask($node, 'SELECT name FROM pg_leakhunt_top_all() ORDER BY flat_bytes DESC LIMIT 1'),
	'holding_malloc', 'so has the top of all processes');
like(ask($node, "SELECT pg_leakhunt_$_()"), qr/holding_malloc/, "and $_") for 'folded_all', 'flamegraph_all';
is(ask($node, "SELECT live_bytes > 30000000 FROM pg_leakhunt_queries WHERE pid = $pid AND query ~ 'hold_malloc'"),
	't', 'and its statement');
is(ask($node, "SELECT peak_bytes > 30000000 FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]' ORDER BY peak_bytes DESC LIMIT 1"),
	't', 'and the peak');

# What is freed is no suspect any more.
$session->query_safe('SELECT release_malloc()');
is(suspects($pid), '', 'nothing is said of a session that has freed it all');
is(malloc_of($node, $pid, 'holding_malloc')->{count}, 0, 'and nothing is left of it');

# Tracking ends and begins again with a reload.
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'off');
repeat($session, 'SELECT hold_malloc(100000, 20)', 20);
is(malloc_of($node, $pid, 'holding_malloc')->{count}, 0, 'nothing is sampled once it is turned off');
$row = process_row($node, $pid);
is_deeply([ @{$row}{ 'malloc_tracked', 'malloc_untracked_bytes' } ], [ JSON::PP::false, undef ], 'as the columns say');
like(explanation($pid), qr/turn pg_leakhunt\.track_malloc on, and the call sites are known/, 'and the explanation');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'on');
$session->query_safe('SELECT release_malloc()');
repeat($session, 'SELECT hold_malloc(100000, 20)', 1);
cmp_ok(malloc_of($node, $pid, 'holding_malloc')->{bytes}, '>', 500_000, 'turned on, it goes on');
$session->quit;

# A few transactions that have left much, which malloc sampled.
($session, $pid) = session_of('SELECT hold_malloc(100000, 500)', 1);
is(suspects($pid), 'held [malloc] holding_malloc', 'what is left by one transaction is held');
$session->quit;

# What does not go on is no suspect, but who has it is known.
($session, $pid) = session_of('SELECT hold_malloc(100000, 40)', 10);
repeat($session, 'SELECT hold_malloc(16, 1)', 60, 0);
is(suspects($pid), '', 'what does not go on is no suspect');
like(explanation($pid),
	qr/Verdict: none\. malloc has given out 3\d MB outside of memory contexts, but that did not grow for long enough to tell whether it goes on\. Most of it that was sampled of one statement is \d\d MB \(.*\) at holding_malloc(?: \([^)]*\))? in \[malloc\]\. (?:The largest [^.]*\. )?Next: see pg_leakhunt_history\($pid\) for when that was, and ask again later\.$/,
	'but the explanation says who has it');
$session->quit;

# What threads take that are not sampled is malloc's as a whole.
($session, $pid) = session_of('SELECT leak_in_threads(2, 2500)', 14, $long_rest);
is(suspects($pid, 10_000_000), 'malloc', 'what other threads take is the suspect of no call site');
like(largest_suspect($pid, 'evidence'),
	qr/ of that are known by call site; threads that are not sampled have allocated \d+ MB in all\. Of the libraries .*malloc_users\.so.* Next: see which of these libraries the session's functions use, and let such sessions end now and then\.$/,
	'and the evidence says so');
cmp_ok(process_row($node, $pid)->{malloc_untracked_bytes}, '>', 30_000_000, 'as does the column');
$session->quit;

# What is freed unseen is no leak: malloc itself knows better.
($session, $pid) = session_of('SELECT free_unseen(100000, 20)', 20);
cmp_ok(malloc_of($node, $pid, 'free_unseen')->{bytes}, '>', 30_000_000, 'what is freed unseen stays sampled');
is(suspects($pid), '', 'but is no suspect');
like(explanation($pid),
	qr/Verdict: none\. Samples of malloc stand for \d\d MB \(.*\), but it had given out \d+ kB outside of memory contexts at that time: some of it was freed unseen, and no call site of malloc is judged\./,
	'and the explanation says why');
$session->quit;

# A library whose allocations are those of its own functions.
SKIP:
{
	skip 'no PL/Perl', 4 if !$has_perl;
	($session, $pid) = session_of('SELECT remember(4000)', 20);
	my $largest = largest_suspect($pid, "concat_ws(' ', verdict, context_name, function_of(site))");

	like($largest, qr/^malloc \[malloc\] (?:Perl_\w+|libperl\.so\S+)$/, 'PL/Perl: a function of Perl');
	unlike($largest, qr/safesys|sv_grow/, 'that is no wrapper of malloc');
	cmp_ok(largest_suspect($pid, 'live_bytes'), '>', 60_000_000, 'with most of it');
	$session->query_safe('SELECT forget()');
	is(suspects($pid, 10_000_000), '', 'and nothing of it when it is freed');
	$session->quit;
}

# A check finds it exactly, at its call site.
sub check
{
	my ($statement, $counts) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT bytes_per_iteration, objects_per_iteration, context_name, function_of(site)"
		  . " FROM pg_leakhunt_check(\$check\$$statement\$check\$ $counts)");

	is($result, 0, "a check of $statement") or diag($stderr);
	return ($stdout, $stderr);
}

for my $counts ('', ', 20, 0', ', 50, 0')
{
	my ($answer, $said) = check('SELECT hold_malloc(100, 3)', $counts);

	is($answer, '300|3|[malloc]|holding_malloc', "what it leaves$counts");
	is($said, '', 'of which no more is said');
	($answer, $said) = check('SELECT hold_malloc(200000, 1), leak_top(16, 1)', $counts);
	is($answer, "200000|1|[malloc]|holding_malloc\n16|1|TopMemoryContext|leaking_top", 'large blocks, and contexts');
	is($said, '', 'of which no more is said, either');
	($answer, $said) = check('SELECT hold_malloc(1000, 5), release_malloc()', $counts);
	is($answer . $said, '', 'what it frees');
	($answer, $said) = check('SELECT exchange_in_threads(3, 1000)', $counts);
	is($answer, '', 'and what other threads free');
}
my ($answer, $said) = check('SELECT hold_malloc(1000, 1), leak_in_threads(1, 100)', ', 40, 4');
is($answer, '1000|1|[malloc]|holding_malloc', 'what this thread leaves is known by call site');
like($said, qr/NOTICE:  malloc outside of memory contexts grew by at least \d+ bytes per iteration\nDETAIL:  No row is about that memory: other threads/,
	'what others leave as a sum');
$node->safe_psql('postgres', "INSERT INTO pg_leakhunt_suppressions VALUES ('context:[malloc]', 'libraries')");
($answer, $said) = check('SELECT hold_malloc(100, 3)', '');
is($answer, '', 'it can be suppressed');
like($said, qr/^\S+ NOTICE:  1 leaking call site is suppressed\nHINT:[^\n]*$/, 'then that is all that is said');
$node->safe_psql('postgres', 'DELETE FROM pg_leakhunt_suppressions');
$node->stop;

# Without the library malloc is a suspect as a whole, and what it takes to know more is
# said.
start_with();
($session, $pid) = session_of('SELECT hold_malloc(100000, 50)', 14, $long_rest);
is(suspects($pid), 'malloc', 'without the library there is no call site');
like(largest_suspect($pid, 'evidence'), qr/Next: .*; start the server with pg_leakhunt_malloc\.so preloaded, and the call sites are known\.$/, 'but advice');
$row = process_row($node, $pid);
is_deeply([ @{$row}{ 'malloc_tracked', 'malloc_untracked_bytes' } ], [ JSON::PP::false, undef ], 'nothing is tracked');
$session->quit;
($answer, $said) = check('SELECT hold_malloc(100, 3)', '');
is($answer, '', 'a check has no row');
like($said, qr/grew by at least 3\d\d bytes per iteration\nDETAIL:.*\nHINT:  Start the server with pg_leakhunt_malloc\.so preloaded/, 'but a sum');

# What it has left when it ends is in the log, by call site.
$node->stop;
start_with(preloaded($node));
($session, $pid) = session_of('SELECT hold_malloc(100000, 50)', 14);
$session->quit;
$node->wait_for_log(qr{\[$pid\].* LOG:  leak approximation summary: .*: ~\d\d MB \+/- \d+ \w+ held at exit, caches included, ~\d\d MB of it by \S+ (?:\(called in hold_malloc\) )?in \[malloc\]; });
$node->stop;
unlike($node->logfile && slurp_file($node->logfile), qr/terminated by signal/, 'nobody crashed');
done_testing();
