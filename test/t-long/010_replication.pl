# A primary with a standby and a logical subscriber under load, every process
# of theirs profiled: each kind shows up as what it is, and none is lost.  Needs
# three servers, and looks at processes that come and go.
# REPLICATION_SECONDS is how long the load lasts.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{REPLICATION_SECONDS} || 5;

# Every process that keeps anything leaves a dump, from which those are known
# that are too short-lived to be met.
my $common = <<'CONF';
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 0
pg_leakhunt.dump_keep = 10000
logging_collector = on
autovacuum_naptime = 1s
wal_level = logical
max_wal_size = 64MB
CONF

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical');
my $version = int($primary->pg_version =~ s/^(\d+).*/$1/r);
my $logger = $version >= 19 ? 'syslogger' : 'logger';
$primary->append_conf('postgresql.conf', $common . <<'CONF');
archive_mode = on
archive_command = 'true'
CONF
$primary->append_conf('postgresql.conf', "summarize_wal = on\n")
  if $version >= 17;
$primary->start;
my $connection = $primary->connstr . ' dbname=postgres';
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_leakhunt');
my $directory = profile_directory($primary);
$primary->command_ok(
	[
		'pgbench', '-i', '-s', 1, '-q', '-h', $primary->host, '-p',
		$primary->port, 'postgres'
	],
	'pgbench tables');

# a physical standby, which keeps the primary's logical slots from 17 on
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'\n");
$standby->append_conf('postgresql.conf', <<"CONF") if $version >= 17;
hot_standby_feedback = on
sync_replication_slots = on
primary_conninfo = '$connection'
CONF
$primary->safe_psql('postgres',
	"SELECT pg_create_physical_replication_slot('standby')");
$standby->start;

# a logical subscriber, which copies the tables first
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', $common);
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION pg_leakhunt');
$subscriber->command_ok(
	[
		'pgbench', '-i', '-I', 'dtp', '-h', $subscriber->host, '-p',
		$subscriber->port, 'postgres'
	],
	'pgbench makes empty tables');
$primary->safe_psql('postgres',
	'ALTER TABLE pgbench_history REPLICA IDENTITY FULL; CREATE PUBLICATION all_tables FOR ALL TABLES'
);
my $options = join ', ', ('streaming = ' . ($version >= 16 ? 'parallel' : 'on')),
  ($version >= 17 ? 'failover = on' : ());
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION all_tables CONNECTION '$connection' PUBLICATION all_tables WITH ($options)"
);
$subscriber->wait_for_subscription_sync($primary, 'all_tables');

# Processes that must stay what they are, as "server type pid".
sub lasting_processes
{
	my @found;

	for my $server ($primary, $standby, $subscriber)
	{
		push @found, map { $server->name . " $_" } split /\n/,
		  $server->safe_psql(
			'postgres', q{
			SELECT backend_type || ' ' || pid FROM pg_stat_activity
			WHERE backend_type IN ('walsender', 'walreceiver', 'startup',
				'checkpointer', 'background writer', 'walwriter', 'archiver',
				'logical replication launcher', 'autovacuum launcher',
				'walsummarizer', 'slotsync worker', 'io worker')
				OR backend_type LIKE 'logical replication%apply worker'
			ORDER BY 1});
	}
	# 18 starts io workers as it needs them
	return grep { !/io worker/ } @found;
}

wait_until(
	sub {
		my $found = join "\n", lasting_processes();

		return
			 $found =~ /walreceiver/
		  && (() = $found =~ /primary walsender/g) == 2
		  && ($version < 17 || $found =~ /standby slotsync/);
	},
	'all processes of replication run');
my @before = lasting_processes();

$primary->command_ok(
	[
		'pgbench', '-n', '-c', 4, '-j', 2, '-T', $seconds, '-h',
		$primary->host, '-p', $primary->port, 'postgres'
	],
	"load for $seconds s");
# large enough to be streamed before it ends
$primary->safe_psql(
	'postgres', q{
	SET logical_decoding_work_mem = '64kB';
	UPDATE pgbench_accounts SET filler = 'updated' WHERE aid <= 50000;
	CHECKPOINT;
	SELECT pg_switch_wal()});

$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
$primary->wait_for_catchup('all_tables');
my $sums =
  'SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(bbalance) FROM pgbench_branches), (SELECT count(*) FROM pgbench_history)';
my $expected = $primary->safe_psql('postgres', $sums);
is($standby->safe_psql('postgres', $sums), $expected, 'the standby has the data of the primary');
is($subscriber->safe_psql('postgres', $sums),
	$expected, 'the subscriber has the data of the primary');
is_deeply([ lasting_processes() ], \@before, 'the processes of replication are the same after the load');

# Each that lasts has a profile, as what it is.
my %servers = (
	primary => $primary,
	standby => $standby,
	subscriber => $subscriber);
my $missing = 0;
for my $process (@before)
{
	my ($name, $type, $pid) = $process =~ /^(\S+) (.*) (\d+)$/;
	my $found = $servers{$name}->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_leakhunt_processes WHERE pid = $pid AND backend_type = '$type' AND state = 'live'"
	);
	next if $found;
	$missing++;
	diag("$process has no profile");
}
is($missing, 0, 'each of ' . @before . ' processes has a profile');

# the logger allocates next to nothing unless it starts a new file
$primary->safe_psql('postgres', 'SELECT pg_rotate_logfile()') for 1 .. 5;
for my $type ('postmaster', $logger)
{
	ok( $primary->poll_query_until(
			'postgres',
			"SELECT count(*) = 1 FROM pg_leakhunt_processes WHERE backend_type = '$type'"
		),
		"process $type has a profile");
}
is( $primary->safe_psql(
		'postgres', q{
		SELECT count(*) > 0 FROM pg_leakhunt_report
		WHERE backend_type = 'walsender' AND lifetime = 'session'
			AND live_bytes > 0 AND array_to_string(stack, ' ') LIKE '%exec_replication_command%'}),
	't',
	"what a walsender's command keeps counts as session");
# a stuck reader of the views could not be told from a slow one
cmp_ok(
	$subscriber->safe_psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_report WHERE backend_type LIKE 'logical replication%'"
	),
	'>', 5, 'apply workers and the launcher have call sites');

# The kinds of processes that left a dump, as "server type".
sub dumped_kinds
{
	my %kinds;

	for my $server ($primary, $standby, $subscriber)
	{
		for my $file (glob($server->data_dir . '/pg_leakhunt/*.profile'))
		{
			$kinds{ $server->name . ' ' . header_of(slurp_file($file))->{label} } = 1;
			fail("$file is no dump of an exit") if $file !~ /\.exit\.profile$/;
		}
	}
	return \%kinds;
}

# One of each kind that comes and goes, and the others at the end, too: the
# kinds of processes that left a dump.
$primary->safe_psql('postgres', 'VACUUM');
$subscriber->stop;
$standby->stop;
$primary->stop;
my $worker = $version >= 17 ? 'logical replication apply worker'
  : 'logical replication worker';
my @kinds = (
	'primary autovacuum worker', 'primary client backend',
	'primary postmaster', 'primary walsender',
	'primary checkpointer', 'primary archiver',
	"primary $logger", 'standby startup',
	'standby walreceiver', "subscriber $worker");
push @kinds, 'subscriber logical replication tablesync worker',
  'primary walsummarizer', 'standby slotsync worker'
  if $version >= 17;
push @kinds, 'primary io worker' if $version >= 18;
# the logger goes on until it has read the last word of the postmaster
wait_until(sub { dumped_kinds()->{"primary $logger"} }, 'the logger has left its dump');
is_gone($directory, 'and has removed the directory of the profiles, which the postmaster could not');
my $dumped = dumped_kinds();
for my $kind (@kinds)
{
	ok($dumped->{$kind}, "process $kind has left a dump");
}

for my $server ($primary, $standby, $subscriber)
{
	my $log = join '',
	  map { slurp_file($_) } $server->logfile,
	  glob($server->data_dir . '/log/*');

	# workers of logical replication exit with 1 when they are told to
	is_deeply(
		[
			grep {
				/PANIC|TRAP|terminated by signal|exited with exit code|pg_leakhunt is inactive/
				  && !/logical replication.* exited with exit code 1$/
			} split /\n/,
			$log
		],
		[],
		$server->name . ': nobody crashed');
}

# Single-user mode, where there is no postmaster.
my $out;
my $single = $primary->data_dir;
IPC::Run::run(
	[
		'postgres', '--single', '-D', $single, '-c', 'logging_collector=off',
		'postgres'
	],
	'<', \"SELECT count(*) FROM pg_leakhunt_processes\n",
	'>', \$out, '2>', \$out);
like($out, qr/count = "1"/, 'a standalone backend sees itself');

done_testing();
