# Settings that change while a session runs: by reload, which needs a server,
# and by SET, in the middle of a leak.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

# The weights of samples are those of the interval they were taken with, also
# when it has changed since.
$session->query_safe(q{SET pg_leakhunt.sample_interval = '64kB'});
$session->query_safe('SELECT leak_top(100, 400000)');
$session->query_safe(q{SET pg_leakhunt.sample_interval = 1});
$session->query_safe('SELECT leak_top(100, 100000)');
$session->query_safe(q{SET pg_leakhunt.sample_interval = '256kB'});
$session->query_safe('SELECT leak_top(100, 1000000)');
my ($bytes, $bound) = split /\|/,
  $node->safe_psql('postgres',
	"SELECT sum(live_bytes), sqrt(sum(error_bytes ^ 2)) FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'"
  );
is_estimate($bytes, $bound, 150_000_000, 'bytes of three intervals add up to what was leaked');

# and they are taken back with that weight
$session->query_safe(q{SET pg_leakhunt.sample_interval = '1kB'});
$session->query_safe(
	q{CREATE FUNCTION mixed() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM allocate_and_reset(100, 20000);
		SET pg_leakhunt.sample_interval = '10kB';
	END $$});
$session->query_safe('SELECT mixed(), mixed()');
is(report_row($node, $pid, 'allocate_and_reset')->{live_bytes},
	0, 'samples of two intervals are taken back in full');
$session->quit;

# Of what goes with the statement an eighth of the samples is kept while there is little
# of it, and each stands for eight times as much; who asks for samples gets them all.
sub passing
{
	my ($how) = @_;
	my $passing = $node->background_psql('postgres');
	my $passing_pid = session_pid($passing);

	$passing->query_safe($how);
	$passing->query_safe(
		q{SELECT count(repeat('x', 1000) || g) FROM generate_series(1, 600000) g});
	my @figures = split /\|/,
	  ask( $node,
		"SELECT samples_taken, sum(total_bytes) FROM pg_leakhunt_sampling p JOIN pg_leakhunt_report r USING (pid) WHERE pid = $passing_pid GROUP BY 1");
	$passing->quit;
	return @figures;
}
my ($few, $few_bytes) = passing(q{SET pg_leakhunt.sample_interval = '256kB'});
my ($many, $many_bytes) = passing(q{SELECT pg_leakhunt_start(pg_backend_pid(), '256kB')});
my ($finer, $finer_bytes) = passing(q{SET pg_leakhunt.sample_interval = '255kB'});
cmp_ok($few, '>', 200, 'a statement that allocates for itself has samples');
is_near($many / $few, 2, 8, 'a session that somebody asked for samples takes eight times as many of a statement');
is_near($finer / $few, 2, 8, 'a smaller interval takes eight times as many samples of a statement');
is_near($few_bytes / $many_bytes, 0.25, 1, 'few samples stand for as many bytes as those that somebody asked for');
is_near($few_bytes / $finer_bytes, 0.25, 1, 'few samples stand for as many bytes as those of a smaller interval');

# Reload reaches a session between two statements.
sub sampling
{
	my $row = process_row($node, $pid);

	return join ' ', @$row{qw(sampling sample_interval scope)};
}

$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT leak_top(1000, 20000)');
is(sampling(), '1 524288 all', 'a session without settings samples by the defaults');

set_and_reload(
	$node,
	'pg_leakhunt.sample_interval' => '2kB',
	'pg_leakhunt.scope' => 'all');
$session->query_safe('SELECT leak_top(1000, 1000)');
is(sampling(), '1 2048 all', 'a reload changes interval and scope');

set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
$session->query_safe('SELECT leak_top(1000, 1000)');
my $before = process_row($node, $pid)->{samples_taken};
$session->query_safe('SELECT leak_top(1000, 10000)');
is(process_row($node, $pid)->{samples_taken},
	$before, 'with enabled = off a session takes no more samples');
is(sampling(), '0 0 all', 'with enabled = off a session is shown as not sampling');

set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
$session->query_safe('SELECT leak_top(1000, 10000)');
cmp_ok(process_row($node, $pid)->{samples_taken},
	'>', $before, 'with enabled = on again a session takes samples');

# Frees are followed while nothing new is sampled.
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT hold_chunk(1234567)');
is(report_row($node, $pid, 'hold_chunk')->{live_bytes}, 1234567,
	'a chunk that is held is live');
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
$session->query_safe('SELECT release_chunk()');
is(report_row($node, $pid, 'hold_chunk')->{live_bytes},
	0, 'a chunk that is freed while sampling is off is no longer live');
$session->quit;

# Turning it off ends the requests made before, in sessions that are there and in
# new ones, and they stay ended.  Requests made afterwards count.
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
$session = $node->background_psql('postgres');
$pid = session_pid($session);

# The interval and scope of the session, and of a new one, after some allocations.
sub samplings
{
	$session->query_safe('SELECT leak_top(1000, 1000)');
	my $newer = $node->background_psql('postgres');
	my $newer_pid = session_pid($newer);
	$newer->query_safe('SELECT hold_chunk(20000000)');
	my $answer = sampling() . ', '
	  . ask($node,
		"SELECT concat_ws(' ', sampling::int, sample_interval, scope) FROM pg_leakhunt_sampling WHERE pid = $newer_pid"
	  );
	$newer->quit;
	return $answer;
}

ask($node, "SELECT pg_leakhunt_start_all(1, 'all')");
is(samplings(), '1 1 all, 1 1 all', 'all processes follow a request to all');
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
$session->query_safe('SELECT leak_top(1000, 1000)');
is(sampling(), '0 0 all', 'a request to all ends when sampling is turned off');
my $newer = $node->background_psql('postgres');
$newer->query_safe('SELECT hold_chunk(20000000)');
is( ask(
		$node,
		'SELECT count(*) FROM pg_leakhunt_sampling WHERE sampling AND pid = '
		  . session_pid($newer)),
	0,
	'a new session does not follow a request from before sampling was turned off');
$newer->quit;
ask($node, "SELECT pg_leakhunt_start($pid, 3000, 'long_lived')");
$session->query_safe('SELECT leak_top(1000, 1000)');
is(sampling(), '1 3000 long_lived', 'a session follows a request made after sampling was turned off');
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
$session->query_safe('SELECT leak_top(1000, 1000)');
is(sampling(), '1 3000 long_lived', 'a request made after sampling was turned off outlives a reload');
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
is(samplings(), '1 2048 all, 1 2048 all',
	'when sampling is on again the settings count');
$session->quit;

# track_queries
set_and_reload(
	$node,
	'pg_leakhunt.enabled' => 'on',
	'pg_leakhunt.sample_interval' => 1,
	'pg_leakhunt.scope' => 'long_lived',
	'pg_leakhunt.track_queries' => 'off');
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT leak_top(10, 1000)');
is(report_row($node, $pid, 'leaking_top')->{query},
	'', 'without track_queries no statement is named');
$session->quit;

# Query ids, where the server computes them.
set_and_reload(
	$node,
	'pg_leakhunt.track_queries' => 'on',
	'compute_query_id' => 'on');
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe("SELECT leak_top($_, 100)") for (11, 12, 13);
is( $node->safe_psql(
		'postgres', qq{
		SELECT count(*), sum(live_bytes), bool_and(query LIKE 'SELECT leak_top(11%')
		FROM pg_leakhunt_report
		WHERE pid = $pid AND function_of(site) = 'leaking_top'}),
	'1|3600|t',
	'statements with the same query id are one');
is( $node->safe_psql(
		'postgres', qq{
		SELECT query_id = (SELECT query_id FROM pg_stat_activity WHERE pid = $pid)
		FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'}),
	't', 'query_id is that of pg_stat_activity');
$session->quit;

# A prepared statement is allocated by a message and kept by the session.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe("PREPARE p$_ AS SELECT $_, count(*) FROM pg_class")
  for 1 .. 20;
my $contexts = q{SELECT coalesce(sum(live_bytes), 0) FROM pg_leakhunt_report
	WHERE lifetime = 'session' AND context_name IN ('CachedPlanSource', 'CachedPlanQuery') AND pid = } . $pid;
cmp_ok($node->safe_psql('postgres', $contexts),
	'>', 50_000, 'prepared statements are live');
$session->query_safe('DEALLOCATE ALL');
is($node->safe_psql('postgres', $contexts), 0, 'prepared statements are not live after DEALLOCATE');
$session->quit;

# What a process allocates first, to fill its caches, goes without samples, unless
# the interval asks for detail.
my $samples = "SET pg_leakhunt.sample_interval = '1GB'; SELECT coalesce(sum(samples_taken), 0) FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()";
set_and_reload($node, 'pg_leakhunt.sample_interval' => '256kB');

# On a slow machine it is not starting any more when it asks, but has allocated the first
# 2 MB unseen.
my $started = "SET pg_leakhunt.sample_interval = '1GB'; SELECT samples_taken = 0 OR unsampled_bytes >= 2097152 FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()";
is_deeply([ grep { $_ eq 'f' } map { $node->safe_psql('postgres', $started) } 1 .. 20 ], [], 'a starting process takes no samples');
cmp_ok($node->safe_psql('postgres', "SELECT leak_top(100, 1000000); $samples") =~ s/.*\n//r,
	'>', 100, 'a process takes samples once it has allocated much');
set_and_reload($node, 'pg_leakhunt.sample_interval' => '4kB');
cmp_ok($node->safe_psql('postgres', $samples), '>', 10, 'a starting process with a small interval takes samples');

# What is fixed when the module is loaded stays as it was, and says so: settings
# of the postmaster where it has loaded the module,
my %other = (
	max_stack_depth => 30,
	max_profile_size => '16MB',
	max_live_samples => 50,
	profile_directory => $node->basedir . '/profiles',
	dump_directory => 'dumps');
for my $setting (sort keys %other)
{
	$node->safe_psql('postgres',
		"ALTER SYSTEM SET pg_leakhunt.$setting = '$other{$setting}'");
}
$node->reload;
my $pending =
  "SELECT count(*) FROM pg_settings WHERE name LIKE 'pg\\_leakhunt.%' AND pending_restart";
ok($node->poll_query_until('postgres', $pending, scalar keys %other),
	'fixed settings wait for a restart');
is($node->safe_psql('postgres', 'SHOW pg_leakhunt.max_live_samples'),
	1000000, 'a fixed setting keeps its old value until the restart');
$node->restart;
is( $node->safe_psql('postgres',
		'SHOW pg_leakhunt.max_live_samples; SHOW pg_leakhunt.dump_directory'),
	"50\ndumps",
	'a fixed setting has its new value after the restart');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');

# of a session where each loads it by itself.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = ''\nlog_min_messages = debug3\n");
$node->restart;
my $loader = $node->background_psql('postgres');
$loader->query_safe("LOAD 'pg_leakhunt'");
my $offset = -s $node->logfile;
set_and_reload($node, 'pg_leakhunt.max_live_samples' => 50);
wait_until(
	sub {
		$loader->query_safe('SELECT 1');
		slurp_file($node->logfile, $offset) =~
		  /invalid value for parameter "pg_leakhunt.max_live_samples": 50/;
	},
	'another max_live_samples is refused in a session that has loaded the module');
like(
	slurp_file($node->logfile, $offset),
	qr/DETAIL:  This setting is fixed when pg_leakhunt is loaded\./,
	'the refusal of a fixed setting has a reason');
like($loader->query_safe('SHOW pg_leakhunt.max_live_samples'),
	qr/1000000$/, 'a fixed setting that was refused keeps its old value');
$loader->quit;

# The first call of a function may be in a query with workers, where no setting can be set.
$node->safe_psql('postgres', q{
	CREATE TABLE numbers AS SELECT generate_series(1, 1000) n;
	ALTER TABLE numbers SET (parallel_workers = 2);
	CREATE FUNCTION load_it() RETURNS text LANGUAGE plpgsql PARALLEL RESTRICTED AS $$
	BEGIN
		PERFORM pg_leakhunt_start(pg_backend_pid(), 1);
		RETURN current_setting('pg_leakhunt.method_tables');
	END$$});
is( $node->safe_psql('postgres', q{
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET debug_parallel_query = off;
		SELECT load_it(), count(*) FROM numbers;
		SELECT leak_top(64, 1000);
		SELECT live_bytes FROM pg_leakhunt_report WHERE site LIKE 'leaking_top%'} =~
	  s/debug_parallel_query/$node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query'/er),
	"patched|1000\n\n64000", 'a query with parallel workers can be what loads it');

# Turned off there, too, with sessions that notice it at different times.
my ($early, $late) =
  map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe("LOAD 'pg_leakhunt'; SET client_min_messages = warning")
  for $early, $late;
$early->query_safe("SELECT pg_leakhunt_start_all(1000, 'all')");
$late->query_safe('SELECT leak_top(1000, 1000)');
$node->append_conf('postgresql.conf', 'pg_leakhunt.enabled = off');
$node->reload;
wait_until(
	sub { $early->query_safe('SHOW pg_leakhunt.enabled') =~ /off$/ },
	'a session has read the configuration');
my $late_pid = session_pid($late);
my $early_pid = session_pid($early);
$early->query_safe('SELECT leak_top(1000, 1000)');
my $sampling =
  "SELECT concat_ws(' ', sampling::int, sample_interval) FROM pg_leakhunt_sampling WHERE pid = ";
like($early->query_safe("$sampling $early_pid"),
	qr/^0 0$/m, 'sampling is turned off where each session loads the module, too');
$early->query_safe("SELECT pg_leakhunt_start($early_pid, 2000)");
wait_until(
	sub { $late->query_safe('SHOW pg_leakhunt.enabled') =~ /off$/ },
	'another session reads the configuration later');
$_->query_safe('SELECT leak_top(1000, 1000)') for $early, $late;
like($early->query_safe("$sampling $late_pid"),
	qr/^0 0$/m, 'a session that reads the configuration late does not follow the request from before either');
like($early->query_safe("$sampling $early_pid"),
	qr/^1 2000$/m, 'a session that reads the configuration late leaves a later request in force');
$_->quit for $early, $late;

# Sizes go beyond an integer of bytes, and are shown as numbers with a unit.
$node->safe_psql('postgres',
	"LOAD 'pg_leakhunt'; ALTER SYSTEM SET pg_leakhunt.dump_growth = '10GB'; ALTER SYSTEM SET pg_leakhunt.dump_min_bytes = '3GB'");
$node->reload;
ok( $node->poll_query_until(
		'postgres',
		"LOAD 'pg_leakhunt'; SELECT current_setting('pg_leakhunt.dump_growth') || ', ' || current_setting('pg_leakhunt.dump_min_bytes')",
		"LOAD\n10GB, 3GB"),
	'settings of sizes accept 10 GB');
is( ask($node, q{LOAD 'pg_leakhunt'; SELECT name, setting, unit FROM pg_settings WHERE name IN ('pg_leakhunt.dump_growth', 'pg_leakhunt.dump_min_bytes') ORDER BY name})
	  =~ s/^LOAD\n//r,
	"pg_leakhunt.dump_growth|10485760|kB\npg_leakhunt.dump_min_bytes|3145728|kB", 'pg_settings has 10 GB as a number of kB');

$node->stop;
done_testing();
