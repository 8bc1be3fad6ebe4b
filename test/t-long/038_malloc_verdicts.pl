# What is said of malloc where pg_leakhunt_malloc.so is preloaded, and where it is not:
# verdicts, explanations, checks, dumps, pictures.  Needs servers that are started with
# a library preloaded.  That the figures are true is what test 037 holds against malloc.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
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

# A session that runs a statement a number of times, with a rest after each, and its pid.
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
		FROM pg_leakhunt_suspects WHERE pid = $pid AND bytes >= ${\($least // 0)}});
}

# One column of the finding on a process that is about most.
sub largest_suspect
{
	my ($pid, $column) = @_;

	return ask($node, "SELECT $column FROM pg_leakhunt_suspects WHERE pid = $pid ORDER BY bytes DESC LIMIT 1");
}

# Its evidence, in one line.
sub evidence
{
	my ($pid) = @_;

	return largest_suspect($pid, 'evidence') =~ s/\n/ /gr;
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
is_near(largest_suspect($pid, 'bytes'), 8_000_000, 40_000_000, 'a suspect of malloc has what its site holds');
is(largest_suspect($pid, 'query'), 'SELECT hold_malloc(100000, 20);', 'a suspect of malloc has its statement');
ok(largest_suspect($pid, q('hold_malloc' = ANY (functions(string_to_array(stack, E'\n'))))) eq 't', 'a suspect of malloc has its stack');
like(evidence($pid),
	qr/^\d\d MB \(.*\) of the \d\d MB allocated here has not been freed, and it (?:keeps growing|kept growing until [^.]*)\. .* Next: Report this/,
	'the evidence of a suspect of malloc is that of a leak');
unlike(evidence($pid), qr/librar/, 'the evidence of a suspect of malloc with a site accuses no library');
like(explanation($pid),
	qr{Verdict: malloc at holding_malloc(?: \([^)]*\))? in \[malloc\]\. This call site holds (?:all|\d+%) of the process' sampled memory\. \d\d MB \(.*\) of the \d\d MB allocated here .* Allocated by statements of this form: SELECT hold_malloc\(100000, 20\); Next: Report this},
	'an explanation has the suspect of malloc');

# What is beside it.
my $row = process_row($node, $pid);
ok($row->{malloc_tracked}, 'malloc is tracked where its library is preloaded');
is($row->{malloc_untracked_bytes}, 0, 'a process without other threads has no untracked bytes of malloc');
cmp_ok($row->{context_bytes}, '<', 10_000_000, 'the contexts do not have what malloc has given out');
is( ask($node, "SELECT lifetime, instances IS NULL, context_bytes IS NULL, live_bytes > 30000000 FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = '[malloc]'"),
	'process|t|t|t',
	'malloc stands beside the contexts, as none of these');
is( ask($node, "SELECT (SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $pid) = sum(live_bytes) FROM pg_leakhunt_report($pid)"),
	't', 'live_bytes are those of all call sites, of malloc or not');

# Growth since a baseline, dumps and pictures have it.
ask($node, "SELECT pg_leakhunt_baseline($pid)");
repeat($session, 'SELECT hold_malloc(100000, 20)', 5);
my $growth = ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]'");
is_near($growth, 4_000_000, 10_000_000, 'malloc grows since a baseline');
my $dump = ask($node, "SELECT pg_leakhunt_dump($pid)") =~ s{.*/}{}r;
is( ask($node, "SELECT count(*), sum(live_bytes) FROM pg_leakhunt_report('$dump') WHERE context_name = '[malloc]' AND lifetime = 'process'"),
	ask($node, "SELECT count(*), sum(live_bytes) FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]'"),
	'a dump has the same sites of malloc');
my $header = header_of(slurp_file($node->data_dir . "/pg_leakhunt/$dump"));
is(join(' ', map { $header->{$_} } qw(malloc_tracked malloc_other_bytes)), '1 0', 'a dump tells that malloc is tracked');
is($header->{malloc_live_bytes},
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report('$dump') WHERE context_name = '[malloc]'"),
	'a dump has the sum of its sites of malloc');
cmp_ok($header->{$_}, '>=', 10, "a dump has $_") for qw(malloc_sampled_bytes malloc_sampled_error);
repeat($session, 'SELECT hold_malloc(100000, 20)', 5);
my $later = ask($node, "SELECT pg_leakhunt_dump($pid)") =~ s{.*/}{}r;
is_near(
	ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$dump', '$later') WHERE context_name = '[malloc]' AND site ~ '^holding_malloc'"),
	4_000_000, 10_000_000, 'the difference of two dumps has the growth of malloc');
for my $picture ('flamegraph', 'folded')
{
	like(ask($node, "SELECT pg_leakhunt_$picture($pid, context => true)"),
		qr/\[malloc\][^\n]*\n?.*holding_malloc/s, "$picture shows the site of malloc");
}
is(ask($node, "SELECT name FROM pg_leakhunt_top($pid) ORDER BY flat_bytes DESC LIMIT 1"),
	'holding_malloc', 'the top has the site of malloc');
is(ask($node, "SELECT position('holding_malloc'::bytea IN pg_leakhunt_pprof($pid)) > 0"), 't', 'pprof has the site of malloc');
is(ask($node, q{SELECT name FROM pg_leakhunt_top('all') ORDER BY flat_bytes DESC LIMIT 1}),
	'holding_malloc', 'the top of all processes has the site of malloc');
like(ask($node, "SELECT pg_leakhunt_$_('all')"), qr/holding_malloc/, "$_ has the site of malloc") for 'folded', 'flamegraph';
is(ask($node, "SELECT sum(live_bytes) > 30000000 FROM pg_leakhunt_report($pid, false) WHERE query ~ 'hold_malloc'"),
	't', 'the statement that leaks by malloc has its bytes');
is(ask($node, "SELECT peak_bytes > 30000000 FROM pg_leakhunt_report($pid) WHERE context_name = '[malloc]' ORDER BY peak_bytes DESC LIMIT 1"),
	't', 'the site of malloc has a peak');

# What is freed is no suspect any more.
$session->query_safe('SELECT release_malloc()');
is(suspects($pid), '', 'a session that has freed all blocks of malloc is no suspect');
is(malloc_of($node, $pid, 'holding_malloc')->{count}, 0, 'a site of malloc does not have what is freed');

# Tracking ends and begins again with a reload.
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'off');
repeat($session, 'SELECT hold_malloc(100000, 20)', 20);
is(malloc_of($node, $pid, 'holding_malloc')->{count}, 0, 'no block is sampled once track_malloc is turned off');
$row = process_row($node, $pid);
is_deeply([ @{$row}{ 'malloc_tracked', 'malloc_untracked_bytes' } ], [ JSON::PP::false, undef ], 'columns tell that malloc is not tracked');
like(explanation($pid), qr/To see call sites of malloc and their statements, turn pg_leakhunt\.track_malloc on\./, 'an explanation tells how to turn on track_malloc');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'on');
$session->query_safe('SELECT release_malloc()');
repeat($session, 'SELECT hold_malloc(100000, 20)', 1);
cmp_ok(malloc_of($node, $pid, 'holding_malloc')->{bytes}, '>', 500_000, 'blocks are sampled once track_malloc is turned on');
$session->quit;

# A few transactions that have left much, which malloc sampled.
($session, $pid) = session_of('SELECT hold_malloc(100000, 500)', 1);
is(suspects($pid), 'held [malloc] holding_malloc', 'what is left by one transaction is held');
$session->quit;

# What does not go on is no suspect, but who has it is known.
($session, $pid) = session_of('SELECT hold_malloc(100000, 40)', 10);
repeat($session, 'SELECT hold_malloc(16, 1)', 60, 0);
is(suspects($pid), '', 'a site of malloc that does not keep growing is no suspect');
like(explanation($pid),
	qr/Verdict: none(?: yet)?\. malloc has given out 3\d MB outside of memory contexts, (?:but that has not grown for long enough to tell a leak|and that has hardly changed for \d+ s)\. The largest part of it that was sampled is \d\d MB \(.*\) at holding_malloc(?: \([^)]*\))? in \[malloc\]\. (?:The largest [^.]*\. )?Next: SELECT \* FROM pg_leakhunt_history\($pid\) shows when it grew\.(?: Ask again later\.)?$/,
	'an explanation has the site of malloc that does not keep growing');
$session->quit;

# What threads take that are not sampled is malloc's as a whole.
($session, $pid) = session_of('SELECT leak_in_threads(2, 2500)', 14, $long_rest);
is(suspects($pid, 10_000_000), 'malloc', 'what other threads take is the suspect of no call site');
like(evidence($pid),
	qr/ The call sites of .* of it are known\. Threads that are not sampled have allocated \d+ MB in all\. It is not known which statement allocated this\. Libraries that call malloc, loaded by this process: malloc_users\.so; linked to the server: .* Next: See what the session does with the libraries that it has loaded by itself\. .*Until this is fixed, limit how long such connections live .*: SELECT pg_terminate_backend\($pid\)\.$/,
	'the evidence of malloc as a whole names threads and libraries');
cmp_ok(process_row($node, $pid)->{malloc_untracked_bytes}, '>', 30_000_000, 'bytes of other threads are in malloc_untracked_bytes');
$session->quit;

# What is freed unseen is no leak: malloc itself knows better.
($session, $pid) = session_of('SELECT free_unseen(100000, 20)', 20);
cmp_ok(malloc_of($node, $pid, 'free_unseen')->{bytes}, '>', 30_000_000, 'what is freed unseen stays sampled');
is(suspects($pid), '', 'a site whose blocks are freed unseen is no suspect');
like(explanation($pid),
	qr/Verdict: none\. Samples of malloc stand for \d\d MB \(.*\), but it had given out \d+ kB outside of memory contexts at that time: some of it was freed unseen, and no call site of malloc is judged\./,
	'an explanation tells that blocks were freed unseen');
$session->quit;

# A library whose allocations are those of its own functions.
SKIP:
{
	skip 'no PL/Perl', 4 if !$has_perl;
	($session, $pid) = session_of('SELECT remember(4000)', 20);
	my $largest = largest_suspect($pid, "concat_ws(' ', verdict, context_name, function_of(site))");

	like($largest, qr/^malloc \[malloc\] (?:Perl_\w+|libperl\.so\S+)$/, 'a leak in PL/Perl is at a function of Perl');
	unlike($largest, qr/safesys|sv_grow/, 'a leak in PL/Perl is at no wrapper of malloc');
	cmp_ok(largest_suspect($pid, 'bytes'), '>', 60_000_000, 'a leak in PL/Perl has most bytes of its session');
	$session->query_safe('SELECT forget()');
	is(suspects($pid, 10_000_000), '', 'what PL/Perl has freed is no suspect');
	$session->quit;
}

# A check finds it exactly, at its call site.
sub check
{
	my ($statement, $counts) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT bytes_per_iteration, objects_per_iteration, context_name, function_of(site)"
		  . " FROM pg_leakhunt_check(\$check\$$statement\$check\$ $counts)");

	is($result, 0, "a check of $statement has a result") or diag($stderr);
	return ($stdout, $stderr);
}

for my $counts ('', ', 20, 0', ', 50, 0')
{
	my ($answer, $said) = check('SELECT hold_malloc(100, 3)', $counts);

	is($answer, '300|3|[malloc]|holding_malloc', "a check finds blocks at their site$counts");
	is($said, '', "a check that finds blocks at their site has no message$counts");
	($answer, $said) = check('SELECT hold_malloc(200000, 1), leak_top(16, 1)', $counts);
	is($answer, "200000|1|[malloc]|holding_malloc\n16|1|TopMemoryContext|leaking_top", "a check finds large blocks, and contexts$counts");
	is($said, '', "a check that finds large blocks has no message$counts");
	($answer, $said) = check('SELECT hold_malloc(1000, 5), release_malloc()', $counts);
	is($answer . $said, '', "a check finds nothing of freed blocks$counts");
	($answer, $said) = check('SELECT exchange_in_threads(3, 1000)', $counts);
	is($answer, '', "a check finds nothing of blocks that other threads free$counts");
}
my ($answer, $said) = check('SELECT hold_malloc(1000, 1), leak_in_threads(1, 100)', ', 40, 4');
is($answer, '1000|1|[malloc]|holding_malloc', 'a check finds blocks of its own thread at their site');
like($said, qr/NOTICE:  malloc outside of memory contexts grew by at least \d+ bytes per iteration\nDETAIL:  No call site grew by it in each half of the iterations: a library/,
	'a check has what other threads leave as a sum');
$node->safe_psql('postgres', "INSERT INTO pg_leakhunt_suppressions VALUES ('context:[malloc]', 'libraries')");
($answer, $said) = check('SELECT hold_malloc(100, 3)', '');
is($answer, '', 'a check leaves out a suppressed site of malloc');
like($said, qr/^\S+ NOTICE:  1 leaking call site is suppressed\nHINT:[^\n]*$/, 'a check tells of a suppressed site of malloc, and nothing else');
$node->safe_psql('postgres', 'DELETE FROM pg_leakhunt_suppressions');
$node->stop;

# Without the library malloc is a suspect as a whole, and what it takes to know more is
# said.
start_with();
($session, $pid) = session_of('SELECT hold_malloc(100000, 50)', 14, $long_rest);
is(suspects($pid), 'malloc', 'without the library malloc is a suspect as a whole');
like(evidence($pid), qr/Next: .* To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc\.so in LD_PRELOAD\.$/, 'without the library the evidence tells to preload it');
$row = process_row($node, $pid);
is_deeply([ @{$row}{ 'malloc_tracked', 'malloc_untracked_bytes' } ], [ JSON::PP::false, undef ], 'without the library malloc is not tracked');
$session->quit;
($answer, $said) = check('SELECT hold_malloc(100, 3)', '');
is($answer, '', 'without the library a check has no row of malloc');
like($said, qr/grew by at least 3\d\d bytes per iteration\nDETAIL:.*\nHINT:  To see the call sites, start the server with pg_leakhunt_malloc\.so in LD_PRELOAD/, 'without the library a check has a sum of malloc');

# What it has left when it ends is in the log, by call site.
$node->stop;
start_with(preloaded($node));
($session, $pid) = session_of('SELECT hold_malloc(100000, 50)', 14);
$session->quit;
$node->wait_for_log(qr{\[$pid\].* DETAIL:  Process: .*  Samples stand for \d\d MB \(\+/- \d+ MB\) of what it held, caches included, \d\d MB of it by \S+ (?:\(called in hold_malloc\) )?in \[malloc\]\.  });
$node->stop;
unlike($node->logfile && slurp_file($node->logfile), qr/terminated by signal/, 'no process has crashed');
done_testing();
