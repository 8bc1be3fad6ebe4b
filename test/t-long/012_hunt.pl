# The live hunt: sampling that another session starts, tunes and stops in the
# middle of a query, growth since a baseline, triage, history and peaks.  Needs
# one session that works and another that looks at it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.enabled = off\n");
define_corner_cases($node);

sub growth
{
	my ($pid) = @_;

	return ask(
		$node,
		"SELECT growth_bytes FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top' ORDER BY live_bytes DESC LIMIT 1"
	);
}

# The patient: one query that leaks all the time, and is never asked.
my $patient = $node->background_psql('postgres');
my $pid = session_pid($patient);
$patient->query_until(qr//, "SELECT leak_top(16, 1000000000000);\n");
$node->poll_query_until('postgres',
	"SELECT state = 'active' FROM pg_stat_activity WHERE pid = $pid AND query LIKE 'SELECT leak_top%'"
) or die 'the patient is not at work';
my $query_start =
  ask($node, "SELECT query_start FROM pg_stat_activity WHERE pid = $pid");
is(ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid"),
	'small', 'a process is not sampled while sampling is off');

is(ask($node, "SELECT pg_leakhunt_start($pid, 64 * 1024)"), 't', 'a request to sample a process is accepted');
ok( $node->poll_query_until(
		'postgres',
		"SELECT sampling AND sample_interval = 65536 AND scope = 'all' FROM pg_leakhunt_sampling WHERE pid = $pid"
	),
	'a request to sample takes effect in the middle of a query');
is(growth($pid), '', 'a site has no growth without a baseline');
is(ask($node, "SELECT pg_leakhunt_baseline($pid)"), 1, 'a baseline of a process is taken');
ok( $node->poll_query_until('postgres',
		"SELECT growth_bytes > 1000000 FROM pg_leakhunt_processes WHERE pid = $pid"
	),
	'a process shows its growth since the baseline');
my $first = growth($pid);
my $second = growth($pid);
cmp_ok($first, '>', 0, 'a site shows its growth since the baseline');
cmp_ok($second, '>', $first, 'the growth of a leaking site increases');
is( ask(
		$node,
		"SELECT string_agg(DISTINCT function_of(site), ',') FROM pg_leakhunt_report WHERE pid = $pid AND growth_bytes > 10000"
	),
	'leaking_top',
	'no site but the leaking one grows');

my $baseline =
  "SELECT live_bytes - growth_bytes FROM pg_leakhunt_processes WHERE pid = $pid";
my $first_baseline = ask($node, $baseline);
is(ask($node, $baseline), $first_baseline, 'a baseline stays as it was taken');
ask($node, 'SELECT pg_leakhunt_baseline_all()');
cmp_ok(ask($node, $baseline), '>', $first_baseline,
	'a baseline of all is one of each');
is(ask($node, "SELECT pg_leakhunt_start($pid, 4096, 'long_lived')"), 't', 'a request for another interval and scope is accepted');
ok( $node->poll_query_until(
		'postgres',
		"SELECT sample_interval = 4096 AND scope = 'long_lived' FROM pg_leakhunt_sampling WHERE pid = $pid"
	),
	'a request for another interval and scope takes effect');
is(ask($node, "SELECT pg_leakhunt_stop($pid)"), 't', 'a request to stop is accepted');
ok( $node->poll_query_until('postgres',
		"SELECT NOT sampling AND sample_interval = 0 FROM pg_leakhunt_sampling WHERE pid = $pid"
	),
	'a request to stop takes effect');
my $taken = "SELECT samples_taken FROM pg_leakhunt_sampling WHERE pid = $pid";
is(ask($node, $taken), ask($node, $taken), 'a stopped process takes no samples');
is( ask(
		$node,
		"SELECT state, query_start FROM pg_stat_activity WHERE pid = $pid"),
	"active|$query_start",
	'a query goes on undisturbed while it is sampled');
ask($node, "SELECT pg_terminate_backend($pid)");
$patient->{run}->finish;

# All processes, those to come included; the later request counts.
my $session = $node->background_psql('postgres');
$pid = session_pid($session);
ask($node, 'SELECT pg_leakhunt_start_all(1)');
$session->query_safe('SELECT leak_top(1000, 3000)');
is( $session->query_safe(
		'SELECT sample_interval FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()'
	),
	1,
	'a request to all reaches a session that was there');
is( ask(
		$node,
		'PREPARE kept AS SELECT 1; SELECT sample_interval FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()'
	),
	1,
	'a request to all reaches a new session');
$session->query_safe("SELECT pg_leakhunt_stop($pid)");
$session->query_safe('SELECT leak_top(1000, 10)');
is( $session->query_safe(
		'SELECT sampling FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()'
	),
	'f',
	'a request to stop one session overrides a request to all');
ask($node, 'SELECT pg_leakhunt_start_all(1)');
$session->query_safe('SELECT leak_top(1000, 3000)');
is( $session->query_safe(
		'SELECT sampling FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()'
	),
	't',
	'a later request to all overrides that to one session');

# The view shows a request that the process has not seen yet.
sub request_of
{
	return ask($node, "SELECT coalesce(request, '-') FROM pg_leakhunt_sampling WHERE pid = $pid");
}
ask($node, 'SELECT pg_leakhunt_reset_all()');
is(request_of(), '-', 'no request is shown after all were taken back');
ask($node, "SELECT pg_leakhunt_start($pid, '5kB')");
is(request_of(), 'pending', 'an idle process has not taken up a request');
$session->query_safe('SELECT leak_top(1000, 3000)');
is(request_of(), 'in force', 'a request is in force once the process has allocated');
ask($node, "SELECT pg_leakhunt_stop($pid)");
is(request_of(), 'pending', 'a request to stop is pending in an idle process');
$session->query_safe('SELECT leak_top(1000, 3000)');
is(request_of(), 'in force', 'a request to stop is in force once the process has allocated');

# A request with an end, on top of one without; then all are taken back.
sub sampled_at
{
	$session->query_safe('SELECT leak_top(1000, 3000)');
	return $session->query_safe(
		"SELECT sampling::text || ' ' || sample_interval FROM pg_leakhunt_sampling WHERE pid = $pid"
	);
}

# The same after a request for some seconds, which may be over before anybody looks: then
# it is made for longer.
sub is_sampled_after
{
	my ($request, $expected, $name) = @_;
	my $found;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $seconds (2, 8, 32, 128)
	{
		ask($node, 'SELECT ' . $request =~ s/SOME/$seconds/r);
		$found = sampled_at();
		last if $found eq $expected;
	}
	return is($found, $expected, $name);
}
ask($node, "SELECT pg_leakhunt_start($pid, 3000)");
ask($node, "SELECT pg_leakhunt_start($pid, 2000, NULL, '1 hour')");
is(sampled_at(), 'true 2000', 'a request for an hour overrides one without an end');
is_sampled_after("pg_leakhunt_start($pid, 1000, NULL, 'SOME seconds')", 'true 1000', 'a request for some seconds overrides one for an hour');
wait_until(sub { sampled_at() eq 'true 3000' },
	'the request without an end counts when that for some seconds is over');
is_sampled_after("pg_leakhunt_start_all(500, NULL, 'SOME seconds')", 'true 500', 'a request to all for some seconds overrides that to one process');
wait_until(sub { sampled_at() eq 'true 3000' }, 'the request to one process counts when that to all is over');
ask($node, 'SELECT pg_leakhunt_reset_all()');
is(sampled_at(), 'false 0', 'the settings count when all requests are taken back');
is_sampled_after("pg_leakhunt_start($pid, 1, NULL, 'SOME seconds')", 'true 1', 'a request for some seconds counts without a request before');
wait_until(sub { sampled_at() eq 'false 0' }, 'the settings count when the only request is over');
ask($node, 'SELECT pg_leakhunt_start_all(1)');

# Requests that make no sense.
for my $wrong (
	[ 'pg_leakhunt_start(0)', qr/WARNING:  PID 0 is not a PostgreSQL/ ],
	[ 'pg_leakhunt_stop(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ 'pg_leakhunt_baseline(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ 'pg_leakhunt_history(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ "pg_leakhunt_start($pid, 0)", qr/ERROR:  sample interval 0 is out of/ ],
	[
		"pg_leakhunt_start($pid, 1::bigint << 40)",
		qr/ERROR:  sample interval 1099511627776 is out of range/
	],
	[
		"pg_leakhunt_start($pid, 1, 'none')",
		qr/ERROR:  unrecognized scope: "none"/
	])
{
	my ($call, $message) = @$wrong;
	my ($result, $stdout, $stderr) = $node->psql('postgres', "SELECT $call");
	like($stderr, $message, "$call tells what is wrong");
}
my ($result, $stdout, $stderr) = $node->psql('postgres',
	'CREATE ROLE nobody; SET ROLE nobody; SELECT pg_leakhunt_start(1)');
like($stderr, qr/permission denied for function pg_leakhunt_start/,
	'a role without privileges may not request sampling');

# Triage: growth in contexts, and growth that malloc alone knows of.
sub triage
{
	my ($call) = @_;

	# the census is taken with a sample, once a second
	$session->query_safe("SELECT $call; SELECT pg_sleep(1.1); SELECT leak_top(1, 100)");
	return process_row($node, $pid);
}

my $before = triage('1');
my $after = triage('leak_top(1000, 60000)');

sub grown
{
	my ($column) = @_;

	return $after->{$column} - $before->{$column};
}
my $in_contexts = grown('context_bytes');
# blocks have 8 MB, of which the last may have been free before, or be now
is_near($in_contexts, 60_000 * 1036, 9_000_000, 'growth of contexts is in context_bytes');
my $malloc_tells = malloc_tells($pid);
is($before->{malloc_bytes}, undef, 'malloc_bytes is null where malloc does not tell')
  if !$malloc_tells;
is_near(grown('malloc_bytes'), 1_000_000, $in_contexts,
	'growth of contexts is in malloc_bytes') if $malloc_tells;
cmp_ok(grown('rss_anon_bytes'), '>', 45_000_000, 'growth of contexts is in rss_anon_bytes');
$before = $after;
$after = triage('leak_malloc(1000, 20000)');
cmp_ok(grown('context_bytes'), '<', 1_000_000, 'growth by malloc is not in context_bytes');
cmp_ok(grown('malloc_bytes'), '>', 20_000_000, 'growth by malloc is in malloc_bytes') if $malloc_tells;

# Growth without a sample that is kept: of malloc, of contexts that nothing is
# allocated in, of a query.  Seen at the end of the transaction, with so many
# contexts that it would hold up the commit at the next sample, and a query while it
# runs.
my $samples =
  "SELECT pg_sleep(1.1); DO \$\$ BEGIN FOR i IN 1 .. 2000 LOOP PERFORM repeat('x', 10000); END LOOP; END \$\$";
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
for my $growth (
	[ 'leak_malloc(1000, 50000)', 0, 50_000 * 1008, 'SELECT 1' ],
	[ 'leak_empty_contexts(40000)', 40_000 * 1024, 40_000 * 1040, $samples ])
{
	my ($call, $contexts, $malloc, $then) = @$growth;
	my $other = $node->background_psql('postgres');
	my $other_pid = session_pid($other);

	$other->query_safe("SELECT pg_sleep(0.1); SELECT $call; SELECT pg_sleep(0.1)");
	$other->query_safe($then);

	# a new session has some two MB of its own
	my $row = process_row($node, $other_pid);
	is_near($row->{context_bytes}, 3_000_000, $contexts, "contexts are counted after $call");
	is_near($row->{malloc_bytes}, 3_000_000, $malloc, "what malloc has in use is counted after $call")
	  if $malloc_tells;
	$other->quit;
}
my $hungry = $node->background_psql('postgres', on_error_stop => 0);
my $hungry_pid = session_pid($hungry);
$hungry->query_safe("SET work_mem = '1GB'; SELECT pg_sleep(0.1)");
$hungry->query_until(qr//, "SELECT pg_sleep(0.01) FROM (SELECT DISTINCT g, repeat('x', 100) FROM generate_series(1, 300000) g) s LIMIT 100000;\n");
ok( $node->poll_query_until(
		'postgres',
		"SELECT context_bytes > 30000000 FROM pg_leakhunt_processes WHERE pid = $hungry_pid"
	),
	'a query that takes much memory is seen while it runs');
ask($node, "SELECT pg_cancel_backend($hungry_pid)");
$hungry->query('SELECT 1; SELECT pg_sleep(0.1)');
cmp_ok(process_row($node, $hungry_pid)->{context_bytes},
	'<', 10_000_000, 'a query that was cancelled is seen to have given back its memory');
$hungry->quit;

# Figures that stand side by side agree as soon as a session rests: after 300 MB within
# a second, and after 3,000 prepared statements.
sub contexts_of
{
	my ($session) = @_;

	return split /\|/, $session->query_safe('SELECT sum(total_bytes), sum(free_bytes) FROM pg_backend_memory_contexts');
}
my $quick = $node->background_psql('postgres');
my $quick_pid = session_pid($quick);
$quick->query_safe('SELECT leak_top(1000, 300000)');
my $figures = process_row($node, $quick_pid);
my ($total, $free) = contexts_of($quick);
is_near($figures->{context_bytes}, $total / 20, $total, 'context_bytes agree with the contexts of a session that has just taken 300 MB');
# at that time the last block, of 8 MB, may have been new
is_near($figures->{context_free_bytes}, 9_000_000, $free, 'context_free_bytes agree with the contexts of a session that has just taken 300 MB');
is_near($figures->{live_bytes}, $total / 4, $total, 'live_bytes agree with the contexts of a session that has just taken 300 MB');
$quick->quit;
my $preparing = $node->background_psql('postgres');
my $preparing_pid = session_pid($preparing);
$preparing->query_safe(q{DO $$ BEGIN FOR i IN 1 .. 3000 LOOP
	EXECUTE format('PREPARE p%s AS SELECT * FROM pg_class WHERE oid = %s', i, i); END LOOP; END $$});
$figures = process_row($node, $preparing_pid);
($total) = contexts_of($preparing);
is_near($figures->{context_bytes}, 0.3 * $total, $total, 'context_bytes agree with the contexts of a session that has prepared 3,000 statements');
$preparing->quit;

# A hash table has its own name, as core shows it; but for its first chunk, which is there
# before the name.
is( ask($node, "SELECT count(*) FILTER (WHERE context_name = 'dynahash' AND instances > 0), bool_or(context_name = 'LOCALLOCK hash') FROM pg_leakhunt_contexts WHERE pid = $pid"),
	'0|t', 'hash tables are listed by their names');

# A baseline of all counts for those, too, that have no profile yet.
my $fresh = $node->background_psql('postgres');
my $fresh_pid = session_pid($fresh);
ask($node, 'SELECT pg_leakhunt_baseline_all()');
$fresh->query_safe('SELECT leak_top(1000, 30000)');
cmp_ok(
	ask($node, "SELECT growth_bytes FROM pg_leakhunt_processes WHERE pid = $fresh_pid"),
	'>', 15_000_000, 'a process that had no profile at its baseline shows growth');
$fresh->quit;
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
ask($node, 'SELECT pg_leakhunt_start_all(1)');

# The census: contexts that are made and never deleted.
my $census =
  "SELECT instances, context_bytes > 100 * 8192 FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = 'leaker leaked context'";
triage('leak_contexts(10, 100)');
is(ask($node, $census), '100|f', 'leaked contexts are counted');
triage('leak_contexts(10, 900)');
is(ask($node, $census), '1000|t', 'leaked contexts are counted again as they grow');

# So many contexts that a walk over them would hold up commits: they are counted
# all the same, at samples.
my $planner = $node->background_psql('postgres');
my $planner_pid = session_pid($planner);
ask($node, "SELECT pg_leakhunt_start($planner_pid, 65536)");
$planner->query_safe(
	q{DO $$ BEGIN FOR i IN 1 .. 30000 LOOP
		EXECUTE format('PREPARE p%s AS SELECT 1', i); END LOOP; END $$});
wait_until(
	sub {
		$planner->query_safe('SELECT leak_top(1000, 1000)');
		ask($node,
			"SELECT max(instances) FROM pg_leakhunt_contexts WHERE pid = $planner_pid"
		) == 30000;
	},
	'30,000 contexts of prepared statements are counted');
$planner->quit;

# The history of it.
my @history = split /\n/,
  ask($node, "SELECT max(bytes) FILTER (WHERE name = 'live_bytes'), max(bytes) FILTER (WHERE name = 'context_bytes') FROM pg_leakhunt_history($pid) GROUP BY at ORDER BY at");
cmp_ok(scalar @history, '>=', 4, 'a process has a history of at least four points');
my ($first_point, $last_point) = map { [ split /\|/ ] } @history[ 0, -1 ];
cmp_ok($last_point->[0], '>', $first_point->[0] + 15_000_000,
	'live bytes grow in a history');
cmp_ok($last_point->[1], '>', $first_point->[1] + 15_000_000,
	'context bytes grow in a history');
$session->quit;

# A profile that somebody removes is there again with the next census, or when
# its own session looks.
my $profiles = $node->safe_psql(
	'postgres', q{
	SELECT (regexp_match(pg_read_file('/proc/self/maps'), '(/\S+)/control'))[1]});
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT leak_top(1000, 3000)');
unlink "$profiles/$pid" or die "$profiles/$pid: $!";
is(ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid"),
	'small', 'a process whose profile was removed is small');
$session->query_safe('SELECT pg_sleep(1.1); SELECT leak_top(1000, 100)');
is(ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid"),
	'live', 'a profile that was removed is back with the next census');
unlink "$profiles/$pid" or die "$profiles/$pid: $!";
is( $session->query_safe(
		'SELECT state FROM pg_leakhunt_processes WHERE pid = pg_backend_pid()'
	),
	'live',
	'a session whose profile was removed is live as soon as it looks');
$session->quit;

# Who held the memory when there was most of it, and when that is over.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe("SET pg_leakhunt.scope = 'all'; SELECT pg_leakhunt_start($pid, 1, 'all')");
$session->query_safe(
	q{SELECT hold_chunk(20000000); SELECT release_chunk();
	SELECT leak_top(1000, 50); SELECT hold_chunk(3000); SELECT release_chunk()});
is( ask(
		$node,
		"SELECT sum(live_bytes), max(peak_bytes) FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'hold_chunk' AND query LIKE '%20000000%'"
	),
	'0|20000000',
	'what was held at the peak is in peak_bytes');
is( ask(
		$node,
		"SELECT sum(live_bytes), max(peak_bytes) FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'"
	),
	'50000|0',
	'what was allocated after the peak is not in peak_bytes');
is( ask(
		$node,
		"SELECT sum(r.peak_bytes) = min(p.peak_bytes) FROM pg_leakhunt_report r JOIN pg_leakhunt_processes p USING (pid) WHERE pid = $pid"
	),
	't',
	'peak_bytes of sites add up to the peak of their process');
$session->quit;

# A baseline that was taken of a process while it exited.
append_to_file("$profiles/baseline.99999999", '');
$node->stop;
is_gone($profiles, 'nothing is left after a clean shutdown');
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/,
	'no process has crashed');
done_testing();
