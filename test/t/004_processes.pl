# Processes of every kind, and what a fork hands down: needs a server that
# starts with the settings that make all of them show up.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF', allows_streaming => 1);
pg_leakhunt.sample_interval = 1
archive_mode = on
archive_command = 'true'
autovacuum_naptime = 1s
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
max_parallel_workers_per_gather = 2
log_checkpoints = on
CONF

$node->safe_psql('postgres',
	'CREATE TABLE filled AS SELECT g, repeat(g::text, 10) AS t FROM generate_series(1, 20000) g; CHECKPOINT; SELECT pg_switch_wal()'
);

# Each process shows up once it has allocated something that lives long.
my @types = (
	'postmaster', 'checkpointer', 'background writer', 'walwriter',
	'autovacuum launcher', 'logical replication launcher',
	'archiver', 'client backend');
for my $type (@types)
{
	ok( $node->poll_query_until(
			'postgres',
			"SELECT count(*) > 0 FROM pg_leakhunt_processes WHERE backend_type = '$type' AND state = 'live' AND live_bytes > 0"
		),
		"$type has a profile");
}
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_leakhunt_processes p JOIN pg_stat_activity a USING (pid)
		WHERE p.backend_type <> a.backend_type}),
	0, 'types of processes are those of pg_stat_activity');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_leakhunt_processes p JOIN pg_stat_activity a USING (pid)
		WHERE p.database IS DISTINCT FROM a.datname
			AND a.backend_type = 'client backend'}),
	0, 'databases of processes are those of pg_stat_activity');
my ($postmaster) =
  split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
is( $node->safe_psql(
		'postgres',
		"SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'postmaster'"
	),
	$postmaster,
	'the postmaster is listed with its PID');

# A parallel worker's leak is its own, under the leader's statement.
my $session = $node->background_psql('postgres');
my $leader = session_pid($session);
$session->query_safe('ALTER FUNCTION leak_top PARALLEL SAFE');
$session->query_until(
	qr/started/, q{\echo started
SELECT count(*), count(leak_top(1000, 10)), count(pg_sleep(0.01)) FROM filled;
});
ok( $node->poll_query_until(
		'postgres', q{
		SELECT count(*) > 0 FROM pg_leakhunt_report
		WHERE backend_type = 'parallel worker' AND function_of(site) = 'leaking_top'
			AND live_bytes >= 100000 AND query LIKE 'SELECT count(*), count(leak_top%'}
	),
	'a parallel worker shows up while it works');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader)");
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 0 FROM pg_leakhunt_processes WHERE backend_type = 'parallel worker'"
	),
	'a parallel worker is gone when its work is done');
# cancelled, psql would report an error to whoever asks next
$session->{run}->kill_kill;

# The child of a postmaster that has samples reports none of them: what it
# holds is what it has allocated since it was forked.
my $inherited = $node->safe_psql(
	'postgres', q{
	SELECT count(*) FROM pg_leakhunt_report r
	WHERE pid = pg_backend_pid()
		AND 'PostmasterMain' = ANY (functions(stack))
		AND NOT 'PostgresMain' = ANY (functions(stack))
		AND function_of(site) IN ('load_hba', 'load_ident', 'RegisterBackgroundWorker')});
is($inherited, 0, "a backend has none of the postmaster's samples");
cmp_ok(
	$node->safe_psql(
		'postgres', q{
		SELECT sum(live_bytes) FROM pg_leakhunt_report
		WHERE backend_type = 'postmaster'}),
	'>', 0, 'the postmaster has samples of its own');

# Children free what they inherited (PostmasterContext); the postmaster's own
# figures must not change by that.
my $before = $node->safe_psql('postgres',
	"SELECT live_count FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE backend_type = 'postmaster'"
);
$node->safe_psql('postgres', 'SELECT 1') for 1 .. 20;
my $after = $node->safe_psql('postgres',
	"SELECT live_count FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE backend_type = 'postmaster'"
);
cmp_ok(abs($after - $before), '<=', 30,
	"children do not write into the postmaster's profile")
  or diag("$before before, $after after");

# A standby, where recovery and the receiver are at work, and where the views
# work as well.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', 'INSERT INTO filled SELECT 1, $$x$$');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
for my $type ('startup', 'walreceiver')
{
	ok( $standby->poll_query_until(
			'postgres',
			"SELECT count(*) > 0 FROM pg_leakhunt_processes WHERE backend_type = '$type' AND state = 'live'"
		),
		"$type has a profile on a standby");
}
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) > 0 FROM pg_leakhunt_processes WHERE backend_type = 'walsender' AND state = 'live'"
	),
	'walsender has a profile on the primary');
$standby->stop;

my $directory = profile_directory($node);
$node->stop;

is_gone($directory, 'a clean shutdown leaves no profile, and no directory');
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, 'no process has crashed');

done_testing();
