# All processes together: the same site of several is one, its figures add up, and
# everybody sees their own processes only.  And pids that are wrong: each mistake
# has one answer, whichever function is asked.  Needs several sessions and roles.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('go');
my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=UTF8', '--locale=C' ]);
pg_leakhunt.enabled = off
restart_after_crash = on
CONF
ask($node,
	'CREATE ROLE pool LOGIN; CREATE ROLE stranger LOGIN; GRANT EXECUTE ON FUNCTION pg_leakhunt_dump, pg_leakhunt_start(int, bigint, text, interval) TO pool');

# What a role is told when it asks: the rows, and the messages.
sub ask_as
{
	my ($role, $query) = @_;
	my ($result, $stdout, $stderr) = $node->psql(
		'postgres', $query,
		extra_params => [ '-U', $role ],
		on_error_stop => 0);

	# that a role sees its own processes only is said, too, which test 063 has
	$stderr =~ s/^.*NOTICE:  pg_leakhunt shows only processes of roles .*\nHINT: .*\n?//mg;
	return ($stdout, $stderr);
}

# Without a process that has something to show
my $pictures = join ' ', map { "SELECT length(pg_leakhunt_$_);" }
  q{folded('all')}, q{flamegraph('all')};
my ($stdout, $stderr) = ask_as('stranger', $pictures);
unlike($stdout, qr/\d/, 'there is no picture without a process');
is(scalar(() = $stderr =~ /WARNING:  no process has a profile\nDETAIL:  No process that you may see /g),
	2, 'a picture without a process has a warning');
($stdout, $stderr) = ask_as('stranger', q{SELECT * FROM pg_leakhunt_top('all')});
is($stdout, '', 'a top without a process has no rows');
like($stderr, qr/^\S*\s*WARNING:  no process has a profile/m, 'a top without a process has a warning');
for my $call (q{pprof('all')})
{
	($stdout, $stderr) = ask_as('stranger', "SELECT length(pg_leakhunt_$call) > 0");
	is($stdout, 't', "$call without a process has no samples, which is no error");
	like($stderr, qr/^\S*\s*WARNING:  no process has a profile/m, "$call without a process has a warning");
}

# Three sessions of a pool that leak the same, and one with another leak.
my (@sessions, @pids);
for my $role (('pool') x 3, undef)
{
	my $session = $node->background_psql('postgres',
		extra_params => $role ? [ '-U', $role ] : []);

	push @sessions, $session;
	push @pids, session_pid($session);
	# what a session asks of itself it gets at once
	$session->query_safe('SELECT pg_leakhunt_start(pg_backend_pid(), 1)');
}
$_->query_safe('SELECT leak_top(64, 10000)') for @sessions[ 0 .. 2 ];
$sessions[3]->query_safe('SELECT leak_cache(1000, 300)');
my $pool = join ',', @pids[ 0 .. 2 ];

# Sums of what is shown of all, by the ways in which it is.
my $directory = PostgreSQL::Test::Utils::tempdir;

sub pprof
{
	my ($arguments, @options) = @_;
	my $path = "$directory/all.pb";

	open my $out, '>:raw', $path or die $!;
	print $out pack('H*', ask($node, "SELECT encode($arguments, 'hex')"));
	close $out or die $!;
	return run_tool('go', 'tool', 'pprof', @options, $path);
}

my $folded_sum =
  q{SELECT sum((regexp_match(line, ' (\d+)$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded('all', %s), E'\n'), E'\n') line};
my $bytes = ask($node, 'SELECT sum(live_bytes) FROM pg_leakhunt_report');
cmp_ok($bytes, '>', 3 * 640000 + 300000, 'the report of all processes has all leaks');
is(ask($node, 'SELECT count(DISTINCT pid) FROM pg_leakhunt_report'), 4, 'the report of all processes is of four');
is(ask($node, "SELECT sum(flat_bytes) FROM pg_leakhunt_top('all', '$_')"),
	$bytes, "the top of all processes by $_ has the sum of the report") for 'function', 'line', 'module', 'context';
is(ask($node, sprintf $folded_sum, $_), $bytes, "folded stacks of all processes have the sum of the report, $_")
  for 'growth => false', 'context => true', 'context => true, query => true';
like(pprof(q{pg_leakhunt_pprof('all')}, '-top', '-unit=B', '-sample_index=inuse_space'),
	qr/^Showing nodes .* of ${bytes}B total/m, 'a pprof of all processes has the sum of the report');
is(ask($node, q{SELECT sum(flat_count) = (SELECT sum(live_count) FROM pg_leakhunt_report) FROM pg_leakhunt_top('all')}),
	't', 'the top of all processes adds up the numbers of chunks');

# One frame for three processes
is( ask($node,
		q{SELECT cum_bytes, cum_count FROM pg_leakhunt_top('all') WHERE name = 'leaking_top'}),
	'1920000|30000',
	'the top of all processes has one row for three of the same site');
my $picture = ask($node, q{SELECT pg_leakhunt_flamegraph('all', query => true)});
like($picture, qr/<text class="title"[^>]*>4 processes: \d+ kB live</,
	'the picture of all processes tells how many they are');
like($picture, qr/>every allocation sampled, all contexts[;<]/, 'the picture of all processes tells how they were sampled');
is(scalar(() = $picture =~ /<title>leaking_top /g), 1, 'the picture of all processes has one frame for three of the same site');
like(
	$picture,
	qr/<title>leaking_top \(leaker\.c:\d+\)&#10;1875 kB in 30000 objects, /,
	'a frame for three processes has what all of them hold');
is(scalar(() = $picture =~ /<title>SELECT leak_top\(64, 10000\)&#10;/g),
	1, 'the picture of all processes has one frame for three of the same statement');

# Labels are there where they are true.
my $raw = pprof(q{pg_leakhunt_pprof('all')}, '-raw');
my ($samples) = $raw =~ /^Samples:\n(.*?)^Locations/ms;
my @shared = $samples =~ /^\s*30000\s+1920000\s+30000\s+1920000: .*\n((?:\s+\w+:\[.*\n)*)/mg;
is(scalar @shared, 1, 'a pprof of all processes has one sample for three');
like($shared[0], qr/backend_type:\[client backend\]/, 'the sample of three processes has the type that they share');
like($shared[0], qr/memory_context:\[TopMemoryContext\]/, 'the sample of three processes has the context that they share');
unlike($shared[0], qr/pid:/, 'the sample of three processes has no PID');
my @single = $samples =~ /^\s*300\s+300000\s+300\s+300000: .*\n((?:\s+\w+:\[.*\n)*)/mg;
unlike($single[0] // '', qr/pid:/, 'the sample of one process has no PID by default');
is(scalar(() = pprof("pg_leakhunt_pprof('all', labels => '{pid}')", '-raw') =~ /^\s*10000\s+640000\s+10000\s+640000: .*\n\s+pid:\[\d+\]\s*$/mg),
	3, 'samples of several processes are apart if PIDs are asked for');
like($raw, qr/pg_leakhunt: 4 processes, PostgreSQL \d+\.\d+, every allocation sampled/,
	'a comment of a pprof tells of what processes it is');

# What each held at its own peak
$sessions[0]->query_safe('SELECT hold_chunk(3000000); SELECT release_chunk()');
$sessions[1]->query_safe('SELECT hold_chunk(2000000); SELECT release_chunk()');
is( ask($node,
		q{SELECT sum(flat_bytes) FILTER (WHERE name = 'hold_chunk'), count(flat_count),
			sum(flat_bytes) = (SELECT sum(peak_bytes) FROM pg_leakhunt_report) FROM pg_leakhunt_top('all', peak => true)}
	),
	'5000000|0|t',
	'peaks of all processes add up');
like(
	ask($node, q{SELECT pg_leakhunt_flamegraph('all', peak => true)}),
	qr/>4 processes: [\d.]+ [kM]B at their peaks</,
	'the picture of all peaks tells that there are several');
is(ask($node, sprintf $folded_sum, 'peak => true'),
	ask($node, 'SELECT sum(peak_bytes) FROM pg_leakhunt_report'), 'folded peaks of all processes add up');
like(pprof(q{pg_leakhunt_pprof('all', peak => true)}, '-raw'), qr/peak_space\/bytes/, 'a pprof of all peaks has the peak as its type');
my ($result, $out, $error) = $node->psql('postgres',
	q{SELECT * FROM pg_leakhunt_top('all', growth => true, peak => true)});
like($error, qr/cannot show more than one of growth, base and peak at once/, 'growth of a peak is refused');

# Growth since each one's own baseline
for my $call (q{top('all', growth => true)}, q{flamegraph('all', growth => true)})
{
	($result, $out, $error) = $node->psql('postgres', "SELECT pg_leakhunt_$call");
	like(
		$error,
		qr/ERROR:  there is no baseline of any process\nHINT:  .*pg_leakhunt_baseline_all/,
		"$call without any baseline is an error");
}
ask($node, "SELECT pg_leakhunt_baseline($_)") for @pids[ 0, 1 ];
$_->query_safe('SELECT leak_top(64, 500)') for @sessions[ 0 .. 2 ];
($result, $out, $error) = $node->psql('postgres',
	q{SELECT name, cum_bytes, cum_count FROM pg_leakhunt_top('all', growth => true) WHERE name = 'leaking_top'});
is($out, 'leaking_top|64000|1000', 'the growth of all processes is since their baselines');
like($error, qr/NOTICE:  2 processes without a baseline are left out\nHINT:  .*pg_leakhunt_baseline_all/,
	'processes without a baseline are left out with a NOTICE');
is(ask($node, 'SELECT pg_leakhunt_baseline_all()'), 4, 'a baseline of all is taken of four processes');
$_->query_safe('SELECT leak_top(64, 500)') for @sessions[ 1, 2 ];
($result, $out, $error) = $node->psql('postgres',
	q{SELECT name, cum_bytes, cum_count FROM pg_leakhunt_top('all', growth => true) WHERE name = 'leaking_top';
	SELECT (regexp_match(line, 'leaking_top (\d+ \d+)$'))[1] FROM string_to_table(pg_leakhunt_folded('all', growth => true), E'\n') line
		WHERE line LIKE '%;leaking_top %'});
is( $out,
	"leaking_top|64000|1000\n2016000 2080000",
	'folded stacks of growth of all processes have both figures');
is($error, '', 'no process is left out of growth if each has a baseline');
like(
	ask($node, q{SELECT pg_leakhunt_flamegraph('all', growth => true)}),
	qr/>4 processes: \+\d+ kB of growth</,
	'the picture of growth of all processes tells their growth');
like(pprof(q{pg_leakhunt_pprof('all', growth => true)}, '-top', '-unit=B', '-sample_index=inuse_space'),
	qr/^ +\d+B .*leaking_top/m, 'a pprof of growth of all processes has the leak');

# Intervals that differ
$sessions[3]->query_safe(
	q{SELECT pg_leakhunt_start(pg_backend_pid(), 4096, 'long_lived'); SELECT leak_top(4000, 2000)});
like(
	ask($node, q{SELECT pg_leakhunt_flamegraph('all')}),
	qr/>one sample in 1 byte to 4096 bytes, long-lived contexts, of some processes all contexts[;<]/,
	'the picture of all processes tells that they are sampled differently');

# A plain role sees its own.
($stdout, $stderr) = ask_as('pool', q{SELECT cum_bytes FROM pg_leakhunt_top('all') WHERE name = 'leaking_top';
	SELECT count(*) FROM pg_leakhunt_top('all') WHERE name = 'leaking_in';
	SELECT pg_leakhunt_flamegraph('all') ~ '>3 processes: ';
	SELECT sum(flat_bytes) = (SELECT sum(live_bytes) FROM pg_leakhunt_report) FROM pg_leakhunt_top('all')});
is($stdout, "2080000\n0\nt\nt", 'a plain role sees its own processes only');
is($stderr, '', "a plain role is told nothing about others' processes");

# Names are told from pids and other arguments, with and without names.
my @calls = (
	[ "top('x')", 'permission denied for file|could not open dump file' ],
	[ "top('x', 'module')", 'could not open|permission denied for file' ],
	[ "top(target => 'x')", 'could not open|permission denied for file' ],
	[ "folded('x', base => 'y')", 'could not open|permission denied for file' ],
	[ "flamegraph('123', true)", '"123" is not the name of a dump file' ],
	[ "pprof('x')", 'could not open|permission denied for file' ],
	[ "pprof('123')", '"123" is not the name of a dump file' ],
	[ 'pprof(NULL)', 'target must not be null' ],
	[ 'pprof(pid => NULL)', 'pid must not be null' ],
	[ 'pprof(2147483647, growth => true)', ' 2147483647 is not a' ],
	[ "top('all', 'x')", 'cannot sum up by "x"' ],
	[ q{top('all', NULL)}, 'sums_by must not be null' ]);
for my $call (@calls)
{
	($result, $out, $error) = $node->psql('postgres', "SELECT pg_leakhunt_$call->[0]");
	like($error, qr/(?:ERROR|WARNING:  PID).*(?:$call->[1])/, "pg_leakhunt_$call->[0] tells names from PIDs");
}

# Pids that are wrong: of no process, of one that is not for the caller, of one that
# has nothing to show.  All functions have a warning, and return nothing.
my $small = $node->background_psql('postgres', extra_params => [ '-U', 'pool' ]);
my $small_pid = session_pid($small);
my $no_process = qr/PID -?\d+ is not a PostgreSQL server process/;
my $denied = qr/permission denied for process $pids[3]\b/;
my $no_profile = qr/process $small_pid has no profile/;
my @wrong = (
	[ 'no process', 2147483647, $no_process ],
	[ 'negative', -1, $no_process ],
	[ 'zero', 0, $no_process ],
	[ 'invisible', $pids[3], $denied ],
	[ 'without a profile', $small_pid, $no_profile ],
	[ 'null', 'NULL::int', qr/pid must not be null\nHINT:  / ]);

for my $case (@wrong)
{
	my ($kind, $pid, $message) = @$case;

	my $level = $kind eq 'null' ? 'ERROR' : 'WARNING';

	# one without a profile has a page of words, and can be proven
	for my $function (qw(report history ages top folded flamegraph pprof heap dump), $kind =~ /profile/ ? () : qw(page proof))
	{

		($stdout, $stderr) = ask_as('pool', "SELECT * FROM pg_leakhunt_$function($pid)");
		is($stdout, '', "$function of a pid that is $kind has no rows");
		like($stderr, qr/^\S*\s*$level:  $message/m, "$function of a pid that is $kind tells the mistake");
	}
	if ($kind ne 'null')
	{
		# there is something to say of one without a profile, too
		($stdout, $stderr) = ask_as('pool', "SELECT pid FROM pg_leakhunt_explain($pid)");
		is($stdout, $kind =~ /profile/ ? $pid : '', "an explanation of a pid that is $kind has a row if there is a process to see");
		like($stderr, $kind =~ /profile/ ? qr/^$/ : qr/^\S*\s*WARNING:  $message/m, "an explanation of a pid that is $kind tells the mistake, if any");
	}
	next if $kind =~ /invisible|profile/;
	for my $function ('start', 'stop', 'baseline')
	{
		($result, $out, $error) =
		  $node->psql('postgres', "SELECT pg_leakhunt_$function($pid)");
		like($out, $kind eq 'null' ? qr/^$/ : qr/^[f0]$/, "$function of a pid that is $kind does nothing");
		like($error, qr/^\S*\s*$level:  $message/m, "$function of a pid that is $kind tells the mistake");
	}
}
($result, $out, $error) = $node->psql('postgres', 'SELECT pg_leakhunt_trim(2147483647)');
like($error, qr/WARNING:  $no_process/, 'a process that is none is not trimmed, and that is said');
is($out, '', 'and nothing is returned');
($stdout, $stderr) = ask_as('pool', "SELECT pg_leakhunt_baseline($pids[3])");
like($stderr, qr/WARNING:  $denied/, 'a baseline of a process that a role may not see is refused');
is($stdout, '0', 'and not taken');
$small->quit;
for my $call ('report(NULL)', 'heap(NULL)', 'diff(NULL, NULL)')
{
	($result, $out, $error) = $node->psql('postgres', "SELECT pg_leakhunt_$call");
	like($error, qr/ERROR:  (?:target|file|older) must not be null/, "pg_leakhunt_$call is refused");
}

# Processes that have crashed are shown, too, alone and with others.
my $crashed = $pids[0];
kill 'KILL', $crashed;
$node->poll_query_until('postgres',
	"SELECT count(*) = 4 FROM pg_leakhunt_processes WHERE state = 'crashed'")
  or die 'no crashed processes';
is( ask($node,
		"SELECT count(*) > 0, (SELECT count(*) > 0 FROM pg_leakhunt_history($crashed)), (SELECT count(*) > 0 FROM pg_leakhunt_top($crashed)), length(pg_leakhunt_folded($crashed)) > 0, length(pg_leakhunt_flamegraph($crashed)) > 0, length(pg_leakhunt_pprof($crashed)) > 0, pg_leakhunt_dump($crashed) IS NOT NULL FROM pg_leakhunt_report($crashed)"
	),
	't|t|t|t|t|t|t',
	'all functions show a process that has crashed');
like(
	ask($node, q{SELECT pg_leakhunt_flamegraph('all')}),
	qr/>4 processes \(4 crashed\): /,
	'the picture of all processes tells how many have crashed');
is(ask($node, q{SELECT sum(flat_bytes) = (SELECT sum(live_bytes) FROM pg_leakhunt_report) FROM pg_leakhunt_top('all')}),
	't', 'crashed processes are in the sums of all');
$node->stop;
done_testing();
