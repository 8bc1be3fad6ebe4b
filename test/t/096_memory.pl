# What the memory consists of that a control group counts: parts that add up, those that are
# known here, and what limits it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

use constant MB => 1024 * 1024;

my $settings = "shared_buffers = 16MB\npg_leakhunt.sample_interval = '64kB'\nautovacuum = off\n"
  . "max_parallel_workers_per_gather = 2\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\n"
  . "parallel_tuple_cost = 0\nenable_mergejoin = off\nenable_nestloop = off\n";
my $node = new_server('main', $settings);
my $mismatches = q{
	WITH memory AS MATERIALIZED (SELECT * FROM pg_leakhunt_memory())
	SELECT count(*) FROM memory whole JOIN (SELECT part_of, sum(bytes) AS bytes FROM memory GROUP BY part_of) parts
		ON parts.part_of = whole.number WHERE parts.bytes <> whole.bytes};

# The bytes of the rows of a part, whose titles are like that.
sub bytes_of
{
	my ($part, $title) = @_;

	return ask($node, "SELECT coalesce(sum(bytes), 0) FROM pg_leakhunt_memory() WHERE part = '$part'"
		  . ($title ? " AND title LIKE '%$title%'" : ''));
}

# The sum of a figure of the kernel over the processes of the server.
sub kernel_sum
{
	my ($file, $key) = @_;
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my $sum = 0;

	for my $pid ($postmaster, split /\n/, `pgrep -P $postmaster`)
	{
		open my $input, '<', "/proc/$pid/$file" or next;
		$sum += 1024 * (join('', <$input>) =~ /^\Q$key\E:\s+(\d+) kB/m ? $1 : 0);
	}
	return $sum;
}

# A parallel hash join that runs, and what is known of the server meanwhile.
sub check_parts
{
	my ($used_file) = @_;
	my $joiner = $node->background_psql('postgres');
	$joiner->query_until(qr/started/, qq{\\echo started
		SET application_name = 'joiner';
		SELECT sum(length(a.filler)), count(pg_sleep(CASE WHEN a.id % 30 = 0 THEN 1 ELSE 0 END)) FROM joined a JOIN joined b USING (id);\n});
	$node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}) or die 'the join does not run';

	is(ask($node, $mismatches), 0, 'parts add up while a statement runs');
	ask_in_one_session(
		$node, sub {
			# what this session needs for its first answer is there before
			bytes_of('sessions');
			my $used = bytes_of('used');
			is_near($used, 0.02 * $used, slurp_file($used_file), 'what is used is what the kernel counts') if $used_file;
			my $private = kernel_sum('smaps_rollup', 'Pss_Anon');
			is_near(bytes_of('sessions'), 0.05 * $private, $private, 'private memory counts once, also where it is shared since a fork');
			my $tables = kernel_sum('status', 'VmPTE');
			is_near(bytes_of('page_tables'), 0.05 * $tables, $tables, 'page tables are a part');
		});
	my ($pid) = split /\n/, ask($node, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name = 'joiner'});
	cmp_ok(bytes_of('segment_owner', "process $pid and its parallel workers"), '>=', MB, 'segments of a parallel hash are those of their session');
	cmp_ok(bytes_of('segment_owners'), '<', bytes_of('dynamic_segments'), 'and the others of several');
	$joiner->{run}->signal('KILL');
	$joiner->{run}->finish;
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'joiner'});
}

# everywhere
is(ask($node, $mismatches), 0, 'the parts of each row add up to it');
is(ask($node, 'SELECT count(*) FROM pg_leakhunt_memory() WHERE number = 1 AND part = \'used\' AND share = 1'), 1, 'the whole comes first');
is(ask($node, 'SELECT bytes FROM pg_leakhunt_memory() WHERE part = \'machine\''), 1024 * (slurp_file('/proc/meminfo') =~ /^MemTotal:\s+(\d+)/)[0], 'the memory of the machine is told');
is(ask($node, 'SELECT bool_and(bytes IS NOT NULL OR part LIKE \'%limit\') FROM pg_leakhunt_memory()'), 't', 'only limits may be not known');
$node->safe_psql('postgres', 'CREATE ROLE someone; CREATE ROLE monitor IN ROLE pg_monitor');
my ($result, undef, $error) = $node->psql('postgres', 'SET ROLE someone; SELECT * FROM pg_leakhunt_memory()');
like($error, qr/permission denied for the memory of the server.*pg_read_all_stats/s, 'a role that may not see all processes is told so');
is($node->psql('postgres', 'SET ROLE monitor; SELECT count(*) FROM pg_leakhunt_memory()'), 0, 'members of pg_monitor may see it');
for my $group ('nonsense', '/../../etc', '/a/../../b', '/no/such/group', '', '/' . 'x' x 5000)
{
	($result, undef, $error) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_memory('$group')");
	like($error, qr/^psql:<stdin>:1: ERROR:  control group ".*" does not exist, or does not count memory/, 'a group that is none is an error: ' . substr($group, 0, 20));
}

# what a session has is told by its type, with what it is for, as of now
my $hoarder = $node->background_psql('postgres');
$hoarder->query_safe("SET application_name = 'hoarder'");
$hoarder->query_safe('SELECT pg_backend_pid() FROM pg_leakhunt_processes LIMIT 1');
# a session counts its memory with a sample at most once a second: not with the second of these
$hoarder->query_until(qr/started/, "\\echo started\nSELECT leak_named_context('hoard', @{[32 * MB]}), leak_named_context('hoard', @{[32 * MB]}), pg_sleep(3600);\n");
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}) or die 'nobody sleeps';
is_near(bytes_of('contexts', 'contexts named hoard'), MB, 64 * MB, 'contexts that were made just now are a part');
is(ask($node, q{SELECT processes FROM pg_leakhunt_memory() WHERE part = 'sessions' AND title LIKE '%client backend, application hoarder'}), 1, 'below a row for sessions of their application');
my $moment = ask($node, 'SELECT clock_timestamp()');
wait_until(
	sub {
		# it has a moment of time for that
		bytes_of('sessions');
		return ask($node, "SELECT bool_and(counted_at >= '$moment') FROM pg_leakhunt_processes WHERE pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'hoarder')") eq 't';
	},
	'a session that sleeps has counted its memory for the answer');

$hoarder->{run}->signal('KILL');
$hoarder->{run}->finish;
$node->safe_psql('postgres', q{
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hoarder';
	CREATE TABLE joined AS SELECT g AS id, repeat('y', 40) AS filler FROM generate_series(1, 60000) g;
	ANALYZE joined});
check_parts();

# pg_prewarm has a segment by a name; PostgreSQL tells that from 19 on
SKIP:
{
	my $share = $node->config_data('--sharedir');

	skip 'this server has no list of named segments', 1 if ask($node, 'SHOW server_version_num') < 190_000;
	skip 'there is no pg_prewarm', 1 if !-e "$share/extension/pg_prewarm.control";
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_prewarm; SELECT autoprewarm_dump_now()');
	is(ask($node, q{SELECT title FROM pg_leakhunt_memory() WHERE part = 'named_segment' AND title LIKE '%autoprewarm%'}), 'segment "autoprewarm" of an extension', 'memory of an extension by a name is told');
}

SKIP:
{
	skip "no control group with a limit: $ENV{NO_OOM_CGROUP}", 10 if !$ENV{COUNTED_CGROUP};

	# a server that has been in the group from its start
	my $group = $ENV{COUNTED_CGROUP};
	my $other = $ENV{LIMITED_CGROUP} =~ s{^/sys/fs/cgroup(?:/memory)?}{}r;
	my ($used_file) = grep { -e "$group/$_" } qw(memory.current memory.usage_in_bytes);
	my $name = $group =~ s{^/sys/fs/cgroup(?:/memory)?}{}r;

	$node->stop;
	system_or_bail('sh', '-c', "echo \$\$ >'$group/cgroup.procs' && exec pg_ctl -w -D '"
		  . $node->data_dir . "' -l '" . $node->logfile . q{' start >/dev/null});
	$node->_update_pid(1);
	check_parts("$group/$used_file");
	like(ask($node, q{SELECT title FROM pg_leakhunt_memory() WHERE number = 1}), qr/^used by the control group$/, 'it counts');
	is(bytes_of('limit'), 512 * MB, 'its limit is told');
	# another group, by its name
	is(ask($node, "SELECT part FROM pg_leakhunt_memory('$name') WHERE part = 'shared_buffers'"), 'shared_buffers', 'the same group by its name is the same');
	is(ask($node, "SELECT count(*) FILTER (WHERE part = 'used'), count(*) FILTER (WHERE part IN ('shared_buffers', 'sessions')) FROM pg_leakhunt_memory('$other')"), '1|0', 'of a group without this server only what the kernel tells is known');
	$node->stop('immediate');
}
done_testing;
