# Hunting in processes that run no SQL: the postmaster and a walsender are
# started, baselined and stopped by a session, while they work.  Needs a module
# that makes them leak, and connections and changes that make them work.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = $ENV{LEAKER} =~ s{/leaker$}{}r;
my $node = new_server(
	'main',
	<<"CONF",
dynamic_library_path = '\$libdir:$libraries'
shared_preload_libraries = 'pg_leakhunt, server_leaks'
pg_leakhunt.enabled = off
CONF
	allows_streaming => 'logical');

# Start, baseline, two looks at the growth and stop, with work in between.
sub hunt
{
	my ($pid, $backend_type, $function, $work) = @_;
	my $growth =
	  "SELECT growth_bytes FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = '$function'";
	my $process =
	  "FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid AND backend_type = '$backend_type'";

	# one connection for all questions: each is a fork
	my $session = $node->background_psql('postgres');
	my $work_until = sub {
		my ($condition, $name) = @_;

		wait_until(
			sub {
				$work->($session);
				return $session->query_safe($condition) eq 't';
			},
			"$backend_type: $name");
	};

	is($session->query_safe("SELECT pg_leakhunt_start($pid, 65536)"),
		't', "$backend_type: a request to sample is accepted");
	$work_until->(
		"SELECT coalesce((SELECT sampling AND sample_interval = 65536 AND samples_live > 0 $process), false)",
		'the process samples');
	is($session->query_safe("SELECT pg_leakhunt_baseline($pid)"),
		1, "$backend_type: a baseline is taken");
	$work_until->("SELECT coalesce(($growth), 0) > 1000000", 'the leaking function grows');
	my $first = $session->query_safe($growth);
	$work_until->("SELECT ($growth) > $first", 'the leaking function grows more');
	is( $session->query_safe(
			"SELECT string_agg(DISTINCT function_of(site), ',') FROM pg_leakhunt_report WHERE pid = $pid AND growth_bytes > 500000"
		),
		$function,
		"$backend_type: no other function grows");
	is($session->query_safe("SELECT pg_leakhunt_stop($pid)"),
		't', "$backend_type: a request to stop is accepted");
	$work_until->("SELECT NOT sampling $process", 'the process does not sample any more');
	my $taken = $session->query_safe("SELECT samples_taken $process");
	$work->($session) for 1 .. 3;
	is($session->query_safe("SELECT samples_taken $process"),
		$taken, "$backend_type: a stopped process takes no samples");
	$session->quit;
}

my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
hunt(
	$postmaster,
	'postmaster',
	'leaking_at_fork',
	sub { $node->safe_psql('postgres', 'SELECT 1') for 1 .. 20 });

# newer minor releases want to be told which plugins may be used
if ($node->safe_psql('postgres',
		"SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'"
	))
{
	$node->append_conf('postgresql.conf',
		"output_plugin_libraries = 'server_leaks'");
	$node->reload;
}
$node->safe_psql('postgres',
	"CREATE TABLE t (a int); SELECT pg_create_logical_replication_slot('slot', 'server_leaks')"
);
my $output = '';
my $receiver = IPC::Run::start(
	[
		'pg_recvlogical', '-d', $node->connstr('postgres'), '-S', 'slot',
		'--start', '-f', '-'
	],
	'>', \$output, '2>', \$output);
$node->poll_query_until('postgres',
	"SELECT active_pid IS NOT NULL FROM pg_replication_slots");
my $walsender = $node->safe_psql('postgres',
	'SELECT active_pid FROM pg_replication_slots');
hunt(
	$walsender,
	'walsender',
	'leaking_at_change',
	sub {
		$_[0]->query_safe('INSERT INTO t SELECT generate_series(1, 200)');
	});
is( $node->safe_psql(
		'postgres', 'SELECT active_pid FROM pg_replication_slots'),
	$walsender,
	'the walsender still serves its slot');
$receiver->kill_kill;

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/,
	'no process has crashed');
done_testing();
