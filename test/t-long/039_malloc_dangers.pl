# What may go wrong where pg_leakhunt_malloc.so is preloaded: children and what they
# execute, signals in the middle of malloc, parallel workers, a module that only one
# session loads.  The server does what it does without the library.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.sample_interval = 1
wal_level = replica
archive_mode = on
archive_command = 'cp %p $archive/%f'
restart_after_crash = on
});

sub start_preloaded
{
	my ($server) = @_;

	local %ENV = (%ENV, preloaded($server));
	$server->start;
}

start_preloaded($node);
define_leakers($node);
define_malloc_users($node);

# A session whose blocks must be exact to the end.
my ($session, $pid);
sub new_session
{
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	$session->query_safe('SELECT hold_malloc(100, 1000)');
}

sub check_session
{
	my ($name) = @_;

	is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 100_000, "$name: what is held is exact");
	$session->query_safe('SELECT regrow_malloc(50)');
	is(malloc_of($node, $pid, 'ing_malloc')->{bytes}, 50_000, "$name: what is moved is exact");
	$session->query_safe('SELECT release_malloc()');
	is(malloc_of($node, $pid, 'ing_malloc')->{bytes}, 0, "$name: what is freed is exact");
	$session->query_safe('SELECT hold_malloc(100, 1000)');
}

# Programs that the server starts.
new_session();
is($session->query_safe(q{CREATE TEMPORARY TABLE lines(line text); COPY lines FROM PROGRAM 'echo copied; seq 1000'; SELECT count(*) FROM lines}),
	1001, 'COPY FROM PROGRAM reads all lines');
$session->query_safe("COPY lines TO PROGRAM 'cat >$archive/lines'");
is(scalar(() = slurp_file("$archive/lines") =~ /\n/g), 1001, 'COPY TO PROGRAM writes all lines');
check_session('programs of COPY');
my $segment = $session->query_safe('SELECT pg_walfile_name(pg_switch_wal())');
wait_until(sub { -e "$archive/$segment" }, 'archive_command works');

# Children of foreign code.
SKIP:
{
	skip 'no PL/Perl', 5 if !-e $node->config_data('--pkglibdir') . '/plperl.so';
	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION plperlu;
		CREATE FUNCTION perl_children(times int) RETURNS int LANGUAGE plperlu AS $$
			use POSIX ();
			my $good = 0;
			for my $i (1 .. $_[0])
			{
				my $pid = fork();
				if ($pid == 0)
				{
					my %kept = map { $_ => 'x' x $_ } 1 .. 1000;
					delete $kept{$_} for 1 .. 500;
					POSIX::_exit(keys %kept == 500 ? 7 : 1);
				}
				$good++ if waitpid($pid, 0) == $pid && $? >> 8 == 7;
			}
			return $good $$;
		CREATE FUNCTION perl_programs(times int) RETURNS int LANGUAGE plperlu AS $$
			my $good = 0;
			for my $i (1 .. $_[0])
			{
				$good++ if system('true') == 0 && `echo $i` == $i;
			}
			return $good $$});
	is($session->query_safe('SELECT perl_children(30)'), 30, 'children that PL/Perl forks use malloc');
	is($session->query_safe('SELECT perl_programs(10)'), 10, 'programs that PL/Perl starts work');
	check_session('children');
}

# The process that reads symbols for a session has no samples.
sub children_of
{
	my ($parent) = @_;
	my ($children) = eval { slurp_file("/proc/$parent/task/$parent/children") };

	return split ' ', $children // '';
}

my $directory = profile_directory($node);
my ($in, $out) = ("SELECT pg_backend_pid();\nSELECT count(*) FROM pg_leakhunt_report;\nSELECT 'over';\n", '');
my $report = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ],
	'<', \$in, '>', \$out, '2>&1');
$report->pump until $out =~ /(\d+)\n/;
my $reporter = $1;
my %readers;
my $profiles_of_readers = 0;
until ($out =~ /over/)
{
	for my $child (children_of($reporter))
	{
		$readers{$child} = 1;
		$profiles_of_readers++ if -e "$directory/$child";
	}
	$report->pump_nb;
}
$report->finish;
cmp_ok(scalar keys %readers, '>', 0, 'a process reads symbols');
is($profiles_of_readers, 0, 'the process that reads symbols has no profile');

# Parallel workers use malloc, too.
$node->safe_psql(
	'postgres', q{
	ALTER FUNCTION churn_malloc PARALLEL SAFE;
	CREATE TABLE many AS SELECT g FROM generate_series(1, 20000) AS g;
	ANALYZE many});
my $plan = $session->query_safe(q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT sum(churn_malloc(100, 0)) FROM many WHERE churn_malloc(200, 0) = 0});
like($plan, qr/Workers Launched: [12]/, 'parallel workers are started');
check_session('parallel workers');

# Statements that are cancelled, by others and by a timer, in the middle of malloc.
my $cancelled = 0;
for my $i (1 .. 20)
{
	my $stderr;

	$node->psql('postgres', 'SET statement_timeout = ' . (1 + $i) . '; SELECT churn_malloc(100, 60)', stderr => \$stderr);
	$cancelled++ if $stderr =~ /statement timeout/;
}
is($cancelled, 20, 'all statements are cancelled in the middle of malloc');
check_session('other sessions were cancelled');

# Sessions that are quit or killed in the middle of malloc: none hangs, and the
# server starts again.
my %queries = (
	'a session alone' => 'SELECT churn_malloc(100, 600)',
	'threads' => 'SELECT exchange_in_threads(4, 1000000000)',
	'moving' => 'SELECT hold_malloc(100, 10000); DO $$ BEGIN LOOP PERFORM regrow_malloc(200); PERFORM regrow_malloc(3000); END LOOP; END $$',
);
$session->quit;
for my $signal ('QUIT', 'QUIT', 'QUIT', 'KILL', 'TERM')
{
	for my $name (sort keys %queries)
	{
		# threads go on in a statement that looks at no interrupts
		next if $signal eq 'TERM' && $name eq 'threads';
		my ($in, $out) = ("SELECT pg_backend_pid();\n$queries{$name};\n", '');
		my $run = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ],
			'<', \$in, '>', \$out, '2>&1');

		$run->pump until $out =~ /(\d+)\n/;
		my $busy = $1;
		select(undef, undef, undef, 0.05 + rand(0.2));
		kill $signal, $busy;
		wait_until(sub { !kill 0, $busy }, "$signal ends a session in the middle of malloc: $name");
		$run->finish;
		wait_for_server($node);
	}
}
new_session();
check_session('after all that');
$session->quit;
$node->stop('immediate');
start_preloaded($node);
new_session();
check_session('after an immediate shutdown');
$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|terminated by signal (?!9)|does not sample malloc/, 'no process has crashed but those that were killed');

# The module is loaded by single sessions.
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
start_preloaded($plain);
define_leakers($plain);
define_malloc_users($plain);
my $without = $plain->background_psql('postgres');
$without->query_safe('SELECT hold_malloc(100, 1000)');
$session = $plain->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT hold_malloc(100, 1000)');
$session->query_safe("LOAD 'pg_leakhunt'; SET client_min_messages = warning; SET pg_leakhunt.sample_interval = 1");
$session->query_safe('SELECT hold_malloc(100, 500)');
$without->query_safe('SELECT hold_malloc(100, 1000)');
is($session->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report(pg_backend_pid()) WHERE 'holding_malloc' = ANY (functions(stack))"),
	50_000, 'a session that loads the module is sampled from then on');
$_->query_safe('SELECT regrow_malloc(200), release_malloc()') for $session, $without;
$session->query_safe('SELECT release_malloc()');
is($session->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report(pg_backend_pid()) WHERE 'holding_malloc' = ANY (functions(stack)) OR 'regrowing_malloc' = ANY (functions(stack))"),
	0, 'what such a session frees is known, whatever it had before');
$_->quit for $session, $without;
$plain->append_conf('postgresql.conf', "session_preload_libraries = 'pg_leakhunt'\npg_leakhunt.sample_interval = 1\n");
$plain->reload;
$session = $plain->background_psql('postgres');
$session->query_safe('SET client_min_messages = warning');
$session->query_safe('SELECT hold_malloc(100, 500)');
is($session->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report(pg_backend_pid()) WHERE 'holding_malloc' = ANY (functions(stack))"),
	50_000, 'a session that loads the module by its settings is sampled');
$session->quit;
$plain->stop;
unlike(slurp_file($plain->logfile), qr/PANIC|TRAP|terminated by signal|WARNING:/, 'no process has crashed, and there is no warning');
done_testing();
