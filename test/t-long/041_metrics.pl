# pg_leakhunt_metrics: few rows whatever there is to see, the figures of the other
# views, and no waiting for symbols.  Needs many sessions, other roles, a server that
# is slow to give debug files, a crash.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IO::Socket::INET;
use IPC::Run;
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $scratch = PostgreSQL::Test::Utils::tempdir();

# A server of debug files that takes questions, and never answers: who waited for it
# would do so longer than any test does.
my $silent = IO::Socket::INET->new(Listen => 20, LocalAddr => '127.0.0.1') or die $!;
$ENV{DEBUGINFOD_URLS} = 'http://127.0.0.1:' . $silent->sockport;
$ENV{DEBUGINFOD_CACHE_PATH} = "$scratch/debuginfod";
$ENV{DEBUGINFOD_TIMEOUT} = 3600;

my $node = new_server('main', <<'CONF');
max_connections = 150
restart_after_crash = on
autovacuum = off
CONF

# The value of a metric of the server, or of a type.
sub metric
{
	my ($name, $type) = @_;

	return ask($node, "SELECT value FROM pg_leakhunt_metrics WHERE name = '$name' AND backend_type "
		  . ($type ? "= '$type'" : 'IS NULL'));
}

# Many sessions, which have profiles, make no further rows.
my $few = ask($node, 'SELECT count(*) FROM pg_leakhunt_metrics');
append_to_file("$scratch/sessions.sql", join "\n", "SET pg_leakhunt.sample_interval = '8kB';",
	(map { "PREPARE kept_$_ AS SELECT * FROM pg_class WHERE relpages = $_;" } 1 .. 30), "SELECT pg_sleep(1000);");
my $sessions = IPC::Run::start(
	[
		'pgbench', '-n', '-c', '100', '-t', '1', '-f', "$scratch/sessions.sql",
		'-h', $node->host, '-p', $node->port, 'postgres'
	],
	'>', \my $output, '2>', \my $errors);
$node->poll_query_until('postgres',
	"SELECT count(*) = 100 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
  or die "$output $errors";
my $rows = ask($node, q{SELECT count(*) FROM pg_leakhunt_metrics WHERE name NOT LIKE 'suspect\_%' AND name <> 'statement_peak_bytes'});
cmp_ok($rows, '<=', $few + 10, 'a hundred sessions make no rows of their own');
cmp_ok($rows, '<=', 60, 'there are at most 60 metrics');
my @peaks = split /\n/, ask($node, q{SELECT query FROM pg_leakhunt_metrics WHERE name = 'statement_peak_bytes'});
cmp_ok(scalar(@peaks), '<=', 10, 'at most ten');
is(ask($node, 'SELECT count(*) FROM (SELECT FROM pg_leakhunt_metrics GROUP BY name, backend_type, verdict, context_name, site, query_id, query HAVING count(*) > 1) AS twice'),
	0, 'no two rows have the same labels');

# The answer is as expected, if not at once: a session that is just ending may be in the
# one view and not in the other.
sub answers_at_last
{
	my ($query, $expected, $name) = @_;
	my $found;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$found = ask($node, $query);
		last if $found eq $expected;
		select(undef, undef, undef, 0.1);
	}
	return is($found, $expected, $name);
}

# The figures are those of pg_leakhunt_processes.  The session that asks grows
# meanwhile, most when it asks for the first time, so that the sums of its type are a
# little less in one of the answers.
my $compare = q{
	WITH types AS (
		SELECT coalesce(backend_type, 'other') AS type, count(*) AS processes,
			sum(rss_anon_bytes) AS rss_anon_bytes, max(rss_anon_bytes) AS rss_anon_max_bytes,
			sum(context_bytes) AS context_bytes, sum(malloc_bytes) AS malloc_bytes
		FROM pg_leakhunt_processes WHERE state IS DISTINCT FROM 'crashed' GROUP BY 1),
	expected AS (
		SELECT type, key AS name, value::float8 AS value FROM types, json_each_text(row_to_json(types))
		WHERE key <> 'type' AND value IS NOT NULL),
	found AS (SELECT * FROM pg_leakhunt_metrics WHERE backend_type IS NOT NULL AND verdict IS NULL
		AND name NOT IN ('processes_proven', 'lost_bytes', 'lost_resettable_bytes', 'oldest_proof_seconds'))
	SELECT coalesce(found.name, expected.name), coalesce(type, backend_type), found.value, expected.value
	FROM found FULL JOIN expected ON found.name = expected.name AND backend_type = type
	WHERE found.value IS NULL OR expected.value IS NULL OR abs(found.value - expected.value) >
		CASE expected.name WHEN 'processes' THEN 0 ELSE 0.02 * expected.value + 300000 END};
answers_at_last("\\o /dev/null\n$compare;\n\\o\n$compare", '', 'figures by type are those of pg_leakhunt_processes');
cmp_ok(ask($node, q{SELECT count(DISTINCT backend_type) FROM pg_leakhunt_metrics}), '>=', 6, 'metrics are of at least six types of processes');
# the session that asks has a profile from the first call on
answers_at_last(q{
		SET pg_leakhunt.sample_interval = 1;
		PREPARE kept AS SELECT 1;
		SELECT (SELECT value FROM pg_leakhunt_metrics WHERE name = 'processes_profiled') - count(*)
		FROM pg_leakhunt_processes WHERE state IN ('live', 'unpublished')},
	0, 'processes_profiled is the number of processes with a profile');
is(metric('loaded'), 1, 'loaded is 1 where all processes have loaded the module');
is(metric('processes_unsampled'), 0, 'processes_unsampled is 0 where all processes take samples');
for my $figure (qw(live_bytes overhead_bytes samples_taken))
{
	my ($found, $expected) = split /\|/, ask($node, qq{
		SELECT (SELECT value FROM pg_leakhunt_metrics WHERE name = '$figure'), sum($figure)
		FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid)});

	is_near($found, 0.02 * $expected + 3e6, $expected, "$figure is the sum of the view's");
}
is(metric('samples_dropped'), 0, 'samples_dropped is 0 where no sample is lost');
set_and_reload($node, 'pg_leakhunt.enabled', 'off');
my $stopped = $node->background_psql('postgres');
$stopped->query_safe('CREATE TEMPORARY TABLE filled AS SELECT generate_series(1, 100000)');
$node->poll_query_until('postgres', q{SELECT value = (SELECT count(*) FROM pg_leakhunt_sampling WHERE NOT sampling)
	FROM pg_leakhunt_metrics WHERE name = 'processes_unsampled'}) or fail('processes that take no samples are counted');
$stopped->quit;
set_and_reload($node, 'pg_leakhunt.enabled', 'on');

# The machine's memory.
my ($machine) = slurp_file('/proc/meminfo') =~ /MemTotal:\s+(\d+)/;
my ($total, $available) = map { metric("memory_${_}_bytes") } qw(total available);
cmp_ok($total, '<=', 1024 * $machine, 'the memory is no more than the machine has');
cmp_ok($total, '>', 100e6, 'the memory of the machine is more than 100 MB');
cmp_ok($available, '<', $total, 'not all memory is available');
cmp_ok($available, '>', 0, 'some memory is available');

# Who sees what.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
my $seen = q{SELECT string_agg(format('%s %s %s', name, backend_type, value), ', ' ORDER BY name, backend_type) FROM pg_leakhunt_metrics
	WHERE name IN ('processes', 'memory_total_bytes')};
is($node->safe_psql('postgres', $seen, extra_params => [ '-U', 'nobody' ]),
	'processes client backend 1', 'a role without privileges sees its own processes only');
# a session that is just ending may be in the one and not in the other
wait_until(sub { $node->safe_psql('postgres', $seen, extra_params => [ '-U', 'monitor' ]) eq ask($node, $seen) },
	'a role with pg_monitor sees all processes');
ask($node, "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
$sessions->finish;

# A module without debug information: its build-id is one that nobody has seen, so that
# the session's symbolizer asks the silent server.
sub make_unknown
{
	my ($file) = @_;
	my $note = "$scratch/note";

	command_ok([ 'strip', '-o', $file, "$ENV{LEAKER}.so" ], 'a module is stripped');
	command_ok([ 'objcopy', '--dump-section', ".note.gnu.build-id=$note", $file ], 'the build-id of a module is read');
	my $content = slurp_file($note);
	substr($content, -8) = pack('Q', int(rand(2**50)));
	unlink $note;
	append_to_file($note, $content);
	command_ok([ 'objcopy', '--update-section', ".note.gnu.build-id=$note", $file ], 'a module gets another build-id');
	return $file;
}

# A session that leaks in a module.
sub leak_in
{
	my ($function, $file) = @_;

	$node->safe_psql('postgres', "CREATE FUNCTION $function(int, bigint) RETURNS void AS '$file', 'leak_top' LANGUAGE C");
	my $session = $node->background_psql('postgres');
	$session->query_safe("SET pg_leakhunt.sample_interval = '16kB'");
	$session->query_safe("SELECT $function(100, 5000)") for 1 .. 40;
	return $session;
}

my $suspects = q{SELECT name, verdict, context_name, site, value FROM pg_leakhunt_metrics WHERE name LIKE 'suspect\_%' ORDER BY name};
is(ask($node, $suspects), '', 'without a leak there is no suspect');
my $leaking = leak_in('leak_stripped', make_unknown("$scratch/stripped.so"));
SKIP:
{
	skip 'no debuginfod', 3 if !-x '/usr/bin/debuginfod';
	my $scraper = $node->background_psql('postgres');

	like($scraper->query_safe($suspects), qr/^suspect_bytes\|leak\|TopMemoryContext\|stripped\.so\+0x[0-9a-f]+ \[not looked up\]\|\d+/,
		'a suspect is shown without a name that is not yet known, and nobody waits for that');
	$scraper->query_safe("INSERT INTO pg_leakhunt_suppressions VALUES ('no_such_function')");
	is($scraper->query_safe($suspects), '', 'a suspect whose name might be suppressed waits for its name');
	$scraper->query_safe('DELETE FROM pg_leakhunt_suppressions');
	like($scraper->query_safe($suspects), qr/^suspect_bytes/, 'a suspect is shown again when no suppression is left');
	$scraper->quit;
}
$silent->close;
$leaking->quit;

# Names are there at a later call of a session, as in pg_leakhunt_suspects; a rate is,
# while it goes on leaking.
$leaking = leak_in('leak_named', "$ENV{LEAKER}.so");
my $scraper = $node->background_psql('postgres');
wait_until(sub { $leaking->query_safe('SELECT leak_named(100, 500)'); $scraper->query_safe($suspects) =~ /^suspect_bytes\|leak\|TopMemoryContext\|leaking_top.*\nsuspect_growth_bytes_per_second\|leak\|TopMemoryContext\|leaking_top/ },
	'a suspect has its name at a later call');
is( $scraper->query_safe(q{
		SELECT count(*) FROM pg_leakhunt_metrics m JOIN pg_leakhunt_suspects s USING (backend_type, verdict, context_name, site)
		WHERE name = 'suspect_bytes' AND value = bytes}),
	1, 'a suspect is that of pg_leakhunt_suspects');
is(metric('suspects'), 1, 'there is one suspect');
$scraper->query_safe("INSERT INTO pg_leakhunt_suppressions VALUES ('leak_top')");
is($scraper->query_safe($suspects), '', 'a suspect can be suppressed');
$scraper->query_safe('DELETE FROM pg_leakhunt_suppressions');
wait_until(sub { ask($node, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") == 3 }, 'three sessions are left');
if (-e "/proc/$$/task/$$/children")
{
	my $process = '/proc/' . session_pid($scraper) . '/task/' . session_pid($scraper);

	wait_until(sub { slurp_file("$process/children") eq '' }, 'no process is left that looks up names');
}
$scraper->quit;

# A stack that is wrong, as a debugger makes believe: in the figures while the process
# lives, and in the log when it exits.
is(metric('wrong_stacks'), 0, 'wrong_stacks is 0 where no stack is wrong');
SKIP:
{
	my $wronged = $node->background_psql('postgres');
	my $pid = session_pid($wronged);
	my $output = qx(gdb -n -batch -p $pid -ex 'set *(unsigned int *) &plh_unwind_wrong_stacks = 2' 2>&1);

	skip 'gdb may not trace here', 5 unless $output =~ /detached/;
	$wronged->query_safe('SET pg_leakhunt.sample_interval = 1; PREPARE kept AS SELECT count(*) FROM pg_class');
	is(metric('wrong_stacks'), 2, 'wrong stacks are counted');
	$wronged->quit;
	is_gone("/proc/$pid", 'a session with wrong stacks ends');
	my @lines = grep { /\[$pid\]/ } split /\n/, slurp_file($node->logfile);
	is(scalar(grep { /LOG:  pg_leakhunt may have shown wrong stacks of process $pid$/ } @lines), 1, 'the log tells of wrong stacks once');
	is(scalar(grep { /DETAIL:  2 remembered stacks differed from libunwind's\./ } @lines), 1, 'the log tells how many stacks were wrong');
	is(scalar(grep { /HINT:  This is a bug in pg_leakhunt/ } @lines), 1, 'the log tells what to do about wrong stacks');
}

# Samples that are lost, and a process that crashes.
my $losing = $node->background_psql('postgres');
$losing->query_safe("SET pg_leakhunt.sample_interval = 1; SELECT allocate_in_critical_section(100, 1000)");
$node->poll_query_until('postgres', q{
	SELECT value > 0 AND value = (SELECT sum(samples_dropped) FROM pg_leakhunt_sampling)
	FROM pg_leakhunt_metrics WHERE name = 'samples_dropped'}) or fail('lost samples are counted');
is(metric('processes_crashed'), 0, 'no process has crashed');
kill 'KILL', session_pid($losing);
$node->poll_query_until('postgres', q{
	SELECT value > 0 AND value = (SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed')
	FROM pg_leakhunt_metrics WHERE name = 'processes_crashed'}) or fail('crashed processes are counted');

# Whether malloc is sampled: of no server that has not preloaded the library.
is(metric('malloc_tracked'), 0, 'malloc is not sampled where its library is not preloaded');
$node->stop;
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
is(metric('malloc_tracked'), 1, 'malloc is sampled where its library is preloaded');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'off');
is(metric('malloc_tracked'), '', 'malloc_tracked is not shown where track_malloc is off');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'on');
$node->stop;

# Where only sessions load it that use it.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
is(metric('loaded'), 0, 'loaded is 0 where each session loads the module by itself');
answers_at_last(q{
		SELECT (SELECT sum(value) FROM pg_leakhunt_metrics WHERE name = 'processes') -
			(SELECT value FROM pg_leakhunt_metrics WHERE name = 'processes_unsampled') <= 1},
	't', 'processes without a profile count as unsampled');
# a session that asks may get a profile while it does
wait_until(sub { ask($node, $compare) !~ /^(?:processes|rss)/m }, 'the number and the memory of processes are known where each session loads the module');
$node->stop;

done_testing();
