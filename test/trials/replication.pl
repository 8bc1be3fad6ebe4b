# A primary, a standby that becomes a primary, and a logical subscriber with parallel
# workers, each allocation of all of them a sample, while all are restarted, killed and
# promoted in turns.  Needs several servers for minutes; ROUNDS says how often (5).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{ROUNDS} || 5;
my $common = <<'CONF';
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 1MB
wal_level = logical
wal_retrieve_retry_interval = 100ms
max_logical_replication_workers = 10
max_worker_processes = 20
max_wal_size = 64MB
restart_after_crash = on
CONF

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical');
my $version = int($primary->pg_version =~ s/^(\d+).*/$1/r);
$primary->append_conf('postgresql.conf', "${common}logical_decoding_work_mem = '64kB'\n");
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION pg_leakhunt;
	CREATE TABLE moved(g bigint PRIMARY KEY, filler text);
	CREATE PUBLICATION moves FOR TABLE moved});
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', $common);
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION pg_leakhunt; CREATE TABLE moved(g bigint PRIMARY KEY, filler text)');
my $streaming = $version >= 16 ? 'parallel' : 'on';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION moves CONNECTION '" . $primary->connstr . " dbname=postgres' PUBLICATION moves WITH (streaming = $streaming)");
$subscriber->wait_for_subscription_sync($primary, 'moves');

# A transaction large enough to be streamed, and many that are not.
my $next = 0;
sub write_rows
{
	my ($server) = @_;
	my $first = $next;

	$next += 6000;
	$server->safe_psql('postgres', "INSERT INTO moved SELECT g, repeat('x', 200) FROM generate_series($first, $first + 4999) g");
	$server->safe_psql('postgres', join ';', map { "INSERT INTO moved VALUES ($first + $_, 'one')" } 5000 .. 5099);
	return;
}

my $sum = 'SELECT count(*), sum(g) FROM moved';

# All that a server runs is shown once, as what it is, and nothing seems to have crashed
# where nobody was killed.
sub shows_all
{
	my ($server, $name) = @_;

	wait_until(
		sub {
			ask($server, q{SELECT count(*) FROM pg_stat_activity a LEFT JOIN pg_leakhunt_processes p USING (pid)
				WHERE p.pid IS NULL OR p.backend_type IS DISTINCT FROM a.backend_type}) eq '0';
		},
		"$name: each process is shown as what it is");
	is(ask($server, q{SELECT count(*) FROM pg_leakhunt_processes GROUP BY pid HAVING count(*) > 1}), '', "$name: none is shown twice");
	ok(ask($server, q{SELECT count(*) FROM pg_leakhunt_report WHERE live_bytes < 0}) eq '0', "$name: no site holds less than nothing");
	return;
}

for my $round (1 .. $rounds)
{
	# a standby of whoever is the primary now
	my $standby = PostgreSQL::Test::Cluster->new("standby_$round");
	$primary->backup("backup_$round");
	$standby->init_from_backup($primary, "backup_$round", has_streaming => 1);
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
	$standby->start;
	write_rows($primary);

	my $kinds = ask($subscriber, q{SELECT string_agg(DISTINCT backend_type, ', ') FROM pg_stat_activity WHERE backend_type LIKE 'logical%'});
	note("round $round: $kinds");
	$primary->wait_for_catchup('moves');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	is(ask($subscriber, $sum), ask($primary, $sum), "round $round: the subscriber has the rows of the primary");
	is(ask($standby, $sum), ask($primary, $sum), "round $round: the standby has the rows of the primary");
	shows_all($primary, "round $round, primary");
	shows_all($standby, "round $round, standby");
	shows_all($subscriber, "round $round, subscriber");

	# the workers of either side are ended, and come again
	ask($subscriber, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type ~ 'logical replication.*worker'});
	ask($primary, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'walsender'});
	write_rows($primary);
	$primary->wait_for_catchup('moves');
	is(ask($subscriber, $sum), ask($primary, $sum), "round $round: workers that were terminated go on");

	# one of them is killed, which restarts its server
	if ($round % 2)
	{
		my $worker = ask($subscriber, q{SELECT pid FROM pg_stat_activity WHERE backend_type ~ 'logical replication.*apply worker|logical replication worker' LIMIT 1});

		kill 'KILL', $worker;
		wait_until(sub { slurp_file($subscriber->logfile) =~ /\(PID $worker\) was terminated by signal 9.*database system is ready/s }, "round $round: the subscriber restarts");
		wait_for_server($subscriber);
		wait_until(sub { ask($subscriber, "SELECT count(*) FROM pg_leakhunt_processes WHERE pid = $worker AND state = 'crashed'") eq '1'
			  || ask($subscriber, 'SELECT count(*) FROM pg_leakhunt_dumps') > 0 }, "round $round: what the worker held is there");
	}
	$subscriber->stop($round % 2 ? 'fast' : 'immediate');
	$subscriber->start;
	$standby->restart;
	write_rows($primary);
	$primary->wait_for_catchup('moves');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));

	# the standby takes over, with processes that live on from before the promotion
	my $checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'";
	my $lasting = ask($standby, $checkpointer);
	$primary->stop('fast');
	$standby->promote;
	is(ask($standby, $checkpointer), $lasting, "round $round: processes live on when a standby is promoted");
	$standby->safe_psql('postgres', 'CHECKPOINT');
	shows_all($standby, "round $round, promoted");

	# slots stay with the old primary: a new subscription continues from what is there
	$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION moves DISABLE');
	$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION moves SET (slot_name = NONE)');
	$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION moves; TRUNCATE moved');
	$subscriber->safe_psql('postgres',
		"CREATE SUBSCRIPTION moves CONNECTION '" . $standby->connstr . " dbname=postgres' PUBLICATION moves WITH (streaming = $streaming)");
	$subscriber->wait_for_subscription_sync($standby, 'moves');
	is(ask($subscriber, $sum), ask($standby, $sum), "round $round: the subscriber has the rows of the new primary");
	$primary = $standby;
}
$_->stop for $subscriber, $primary;
for my $server ($primary, $subscriber)
{
	is_deeply([ grep { /PANIC|TRAP|terminated by signal (?!9)|pg_leakhunt is inactive|WARNING/ && !/terminating connection because of crash|PID \d+ is not a PostgreSQL backend process/ }
			split /\n/, slurp_file($server->logfile) ], [], $server->name . ': nobody crashed');
}
done_testing();
