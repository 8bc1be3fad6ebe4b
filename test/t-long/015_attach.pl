# A server that was started without the module: sessions that load it, sessions
# that are given it, and one that is already in trouble and gets it by a
# debugger.  Needs processes that have it and others that have not.
use strict;
use warnings;

use File::Copy;
use FindBin;
use POSIX ();
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# that other processes are not seen is expected
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

my $node = new_server('main', "shared_preload_libraries = ''\n");
define_corner_cases($node);

# A session that is at work and never asked; its pid.
sub patient
{
	my ($session, $query) = @_;
	my $pid = session_pid($session);

	$session->query_until(qr//, "$query;\n");
	$node->poll_query_until('postgres',
		"SELECT state = 'active' FROM pg_stat_activity WHERE pid = $pid AND query LIKE '\%leak_top\%'"
	) or die 'the patient is not at work';
	return $pid;
}

# Which processes are covered, and what the views say of those that are not.
my $loaded =
  "SELECT string_agg(DISTINCT backend_type, ',') FROM pg_leakhunt_processes WHERE state <> 'not loaded'";
is(ask($node, $loaded), 'client backend', 'without preloading only the session that asks has the module');
is( ask(
		$node,
		"SELECT string_agg(DISTINCT backend_type, ',' ORDER BY backend_type) FROM pg_leakhunt_processes WHERE state = 'not loaded' AND rss_anon_bytes > 0 AND backend_type IN ('postmaster', 'checkpointer', 'walwriter')"
	),
	'checkpointer,postmaster,walwriter',
	'processes without the module have state "not loaded"');
my $plain = $node->background_psql('postgres');
my $plain_pid = session_pid($plain);
my ($result, $stdout, $stderr);
for my $asked ([ 'start', 'f' ], [ 'stop', 'f' ], [ 'baseline', '0' ])
{
	my ($what, $nothing) = @$asked;

	($result, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT pg_leakhunt_$what($plain_pid)");
	like(
		$stderr,
		qr/WARNING:  PID $plain_pid has not loaded pg_leakhunt\nHINT:.*session_preload_libraries/,
		"$what: a process without the module is not asked");
	is($stdout, $nothing, "$what: a process without the module is no success");
}
ask($node, 'SELECT pg_leakhunt_baseline_all()');
is( scalar(
		grep { (stat)[9] >= $^T } glob("/dev/shm/pg_leakhunt.*/baseline.$plain_pid")),
	0,
	'a baseline of all has no file that it would not remove');

# LOAD
$plain->query_safe("LOAD 'pg_leakhunt'; SET pg_leakhunt.sample_interval = 1; SELECT leak_top(100, 1000)");
is( ask(
		$node,
		"SELECT live_bytes FROM pg_leakhunt_report WHERE pid = $plain_pid AND function_of(site) = 'leaking_top'"
	),
	100_000,
	'a session that uses LOAD is sampled');
$plain->quit;

# The next session after a reload
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_leakhunt'");
my $old = $node->background_psql('postgres');
my $old_pid = session_pid($old);
$node->reload;
my $new;
my $new_pid;
wait_until(
	sub {
		$new->quit if $new;
		$new = $node->background_psql('postgres');
		$new_pid = session_pid($new);
		return ask(
			$node,
			"SELECT state FROM pg_leakhunt_processes WHERE pid = $new_pid") =~ /^(?:small|live)$/;
	},
	'session_preload_libraries covers the next session');
is(ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $old_pid"),
	'not loaded', 'session_preload_libraries covers no session that was there');
$new->query_safe('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(50, 2000)');
is( ask(
		$node,
		"SELECT live_bytes FROM pg_leakhunt_report WHERE pid = $new_pid AND function_of(site) = 'leaking_top'"
	),
	100_000,
	'a leak of a session with session_preload_libraries is found');
is(ask($node, "SELECT pg_leakhunt_start($new_pid, 2048)"), 't', 'a session with session_preload_libraries can be given an interval');
$new->quit;
$old->quit;
set_and_reload($node, 'session_preload_libraries' => '');

# The debugger
sub run_program
{
	my @command = @_;
	my ($stdout, $stderr) = ('', '');
	my $result = IPC::Run::run \@command, '>', \$stdout, '2>', \$stderr;

	return ($result, $stdout, $stderr);
}

sub attach
{
	return run_program('pg_leakhunt_attach', @_);
}

for my $wrong (
	[ [], qr/^Usage: pg_leakhunt_attach PID/m ],
	[ ['x'], qr/"x" is not a process id/ ],
	[ [ 1, 0 ], qr/"0" is not a number of seconds/ ],
	[ [$$], qr/Process $$ is not PostgreSQL/ ],
	[ [ $node->{_pid} ], qr/is the postmaster/ ])
{
	my ($arguments, $message) = @$wrong;
	($result, $stdout, $stderr) = attach(@$arguments);
	ok(!$result, "attach @$arguments fails");
	like($stderr, $message, "attach @$arguments says why it fails");
}

# The logger is told from sessions with "logger" in the names of their role and
# database by the title of the process.
my $collector = PostgreSQL::Test::Cluster->new('collector');
$collector->init;
$collector->append_conf('postgresql.conf', 'logging_collector = on');
$collector->start;
chomp(my $logger = qx(pgrep -P $collector->{_pid} -f ': (sys)?logger'));
($result, $stdout, $stderr) = attach($logger);
like($stderr, qr/Process $logger is the logger/, 'attach to the logger fails');
$collector->stop;

ask($node, 'CREATE ROLE blogger SUPERUSER LOGIN');
ask($node, 'CREATE DATABASE logger');
my $blogger =
  $node->background_psql('logger', extra_params => [ '-U', 'blogger' ]);
my $blogger_pid = session_pid($blogger);
($result, $stdout, $stderr) = attach($blogger_pid, 1);
unlike($stderr, qr/is the logger/,
	'a session of role "blogger" in database "logger" is not the logger');

# The script finds its other half beside itself, where it is a symbolic link, too.
my $installed = $node->config_data('--bindir') . '/pg_leakhunt_attach';
my $elsewhere = PostgreSQL::Test::Utils::tempdir();
symlink($installed, "$elsewhere/link") or die "symlink: $!";
($result, $stdout, $stderr) = run_program("$elsewhere/link", $blogger_pid, 1);
unlike($stderr, qr/There is no/, 'attach by a symbolic link finds its other half');
copy($installed, "$elsewhere/copy") or die "copy: $!";
($result, $stdout, $stderr) =
  run_program('bash', "$elsewhere/copy", $blogger_pid, 1);
ok(!$result, 'a copy without the other half fails');
like(
	$stderr,
	qr{There is no \Q$elsewhere\E/pg_leakhunt_attach\.gdb},
	'a copy without the other half says what is missing');

# On another processor it says what to do instead.
my $programs = PostgreSQL::Test::Utils::tempdir();
append_to_file("$programs/uname", "#!/bin/sh\necho aarch64\n");
chmod 0755, "$programs/uname";
{
	local $ENV{PATH} = "$programs:$ENV{PATH}";
	($result, $stdout, $stderr) = attach($blogger_pid, 1);
}
ok(!$result, 'attach on aarch64 fails');
is( $stderr,
	"pg_leakhunt_attach: This machine is aarch64, but only on x86-64 can a running process be attached to."
	  . " Let the session run LOAD 'pg_leakhunt' itself, or set session_preload_libraries for sessions that begin later.\n",
	'attach on aarch64 says what to do instead');
$blogger->quit;

SKIP:
{
	skip 'only processes of x86-64 can be attached to', 1 if (POSIX::uname())[4] ne 'x86_64';
	skip 'gdb may not trace here', 1 unless can_trace($node);

	# at work, with a transaction open
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('BEGIN; CREATE TEMP TABLE t AS SELECT 42 AS a; COMMIT; BEGIN');
	my $pid = patient($session,
		'DO $$ BEGIN LOOP PERFORM leak_top(100, 100), pg_sleep(0.001); END LOOP; END $$'
	);
	my $start =
	  ask($node, "SELECT query_start FROM pg_stat_activity WHERE pid = $pid");
	($result, $stdout, $stderr) = attach($pid);
	ok($result, 'attach to a session at work') or diag($stderr);
	like($stdout, qr/Process $pid has loaded pg_leakhunt/, 'attach to a session at work says that it has loaded');
	ok( $node->poll_query_until(
			'postgres',
			"SELECT live_bytes > 3000000 FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'"
		),
		'a leak of a session that was attached to is found');
	is( ask(
			$node,
			"SELECT state, query_start FROM pg_stat_activity WHERE pid = $pid"
		),
		"active|$start",
		'the query of a session that was attached to goes on');
	is(ask($node, "SELECT pg_leakhunt_stop($pid)"), 't', 'sampling of a session that was attached to can be stopped');
	($result, $stdout, $stderr) = attach($pid);
	like($stdout, qr/has pg_leakhunt already/, 'attach to a session that has the module says so');
	ask($node, "SELECT pg_cancel_backend($pid)");
	like($session->query('ROLLBACK; SELECT a FROM t'),
		qr/^42$/m, 'the transaction of a session that was attached to goes on');
	$session->quit;

	# idle: not before it has something to do
	$session = $node->background_psql('postgres', on_error_stop => 0);
	$pid = session_pid($session);
	($result, $stdout, $stderr) = attach($pid, 1);
	ok(!$result, 'attach to an idle session fails');
	my $attaching = IPC::Run::start([ 'pg_leakhunt_attach', $pid, $PostgreSQL::Test::Utils::timeout_default ],
		'>', \$stdout, '2>', \$stderr);
	$session->query_until(qr//, "DO \$\$ BEGIN LOOP PERFORM pg_sleep(0.1); END LOOP; END \$\$;\n");
	$attaching->finish;
	ask($node, "SELECT pg_cancel_backend($pid)");
	$session->query('SELECT 1');
	$session->{stderr} = '';
	like($stdout, qr/has loaded pg_leakhunt/, 'attach waits until an idle session is at work');
	is( $session->query_safe(
			'SET pg_leakhunt.sample_interval = 1; SELECT leak_top(10, 1000);'
			  . "SELECT live_bytes FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'"
		) =~ s/^\s+//r,
		10_000,
		'a session that was attached to when it was idle samples');
	$session->quit;

	# idle again and again, as most sessions are, with statements that look for
	# interrupts in passing only
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	($stdout, $stderr) = ('', '');
	$attaching = IPC::Run::start([ 'pg_leakhunt_attach', $pid, $PostgreSQL::Test::Utils::timeout_default ],
		'>', \$stdout, '2>', \$stderr);
	wait_until(
		sub {
			$session->query_safe('SELECT leak_top(10, 10)');
			$attaching->pump_nb;
			return !$attaching->pumpable;
		},
		'attach to a session with short statements');
	$attaching->finish;
	like($stdout, qr/has loaded pg_leakhunt/, 'attach to a session with short statements says that it has loaded') or diag($stderr);
	is(qx(pgrep -f '[p]g_leakhunt_attach $pid( |\$)'), '', 'no process is left of attach');
	$session->quit;

	# one that ends meanwhile
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	($stdout, $stderr) = ('', '');
	$attaching = IPC::Run::start([ 'pg_leakhunt_attach', $pid, $PostgreSQL::Test::Utils::timeout_default ],
		'>', \$stdout, '2>', \$stderr);
	wait_until(sub { qx(grep TracerPid /proc/$pid/status) !~ /\t0$/ },
		'gdb has stopped a session that is about to end');
	$session->quit;
	$attaching->finish;
	like($stderr, qr/Process $pid has ended/, 'attach says that the session has ended');

	# what there is to say when it is loaded does no harm
	$session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe(
		'CREATE ROLE plain; SET log_min_messages = debug3; SET pg_leakhunt.nonsense = 1; SET ROLE plain; SET pg_leakhunt.sample_interval = 1'
	);
	$pid = patient($session,
		'DO $$ BEGIN PERFORM leak_top(1, 1); FOR i IN 1..600 LOOP PERFORM pg_sleep(0.1); END LOOP; END $$'
	);
	my $cancelling = IPC::Run::start([ 'pg_leakhunt_attach', $pid ],
		'>', \$stdout, '2>', \$stderr);
	$cancelling->finish;
	like(ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid"),
		qr/^(?:small|live)$/, 'attach to a session with settings that make warnings')
	  or diag($stderr);
	ask($node, "SELECT pg_cancel_backend($pid)");
	like($session->query('SELECT 41 + 1'), qr/^42$/m, 'a session with settings that make warnings goes on');
	$session->quit;

	# where interrupts are held it is not safe, not even when the time is over
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	$session->query_until(qr//, "SELECT 'lost ' || hold_interrupts();\n");
	($result, $stdout, $stderr) = attach($pid, 1);
	ok(!$result, 'attach to a session that holds interrupts fails');
	kill 'HUP', $pid;
	like($session->query('SELECT 1'), qr/^lost 0$/m, 'interrupts stay held after attach has failed');
	$session->quit;

	# one in which the module gives up
	set_and_reload($node, 'pg_leakhunt.profile_directory' => '/nonexistent/x');
	$session = $node->background_psql('postgres', on_error_stop => 0);
	$pid = patient($session, 'SELECT leak_top(1, 1), pg_sleep(600)');
	($result, $stdout, $stderr) = attach($pid);
	like($stderr, qr/has loaded pg_leakhunt, which is inactive there/,
		'a module that is inactive is no success');
	ask($node, "SELECT pg_cancel_backend($pid)");
	$session->quit;
	set_and_reload($node, 'pg_leakhunt.profile_directory' => '');

	# Cancels at any time: each ends a statement, and nothing else.  The time is
	# the matter here: nobody says when the debugger gets to which of its steps.
	for my $delay (0 .. 12)
	{
		$session = $node->background_psql('postgres', on_error_stop => 0);
		$pid = patient($session,
			'SELECT leak_top(1, 1), pg_sleep(0.01) FROM generate_series(1, 100000)'
		);
		$attaching = IPC::Run::start([ 'pg_leakhunt_attach', $pid, 2 ],
			'>', \$stdout, '2>', \$stderr);
		select(undef, undef, undef, 0.1 * $delay);
		kill 'INT', $pid;
		$attaching->finish;
		$session->query('SELECT 1');
		$session->quit;
	}
	unlike(slurp_file($node->logfile), qr/terminated by signal/,
		'cancels while the debugger is at work do no harm');
	is(scalar(() = slurp_file($node->logfile) =~ /canceling statement/g),
		17, 'no cancel is lost while the debugger is at work');

	# one that never looks for interrupts is left as it was
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	my ($checkpointer) = split /\n/, ask(
		$node,
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
	($result, $stdout, $stderr) = attach($checkpointer, 1);
	ok(!$result, 'attach to a process without a safe point fails');
	like($stderr, qr/did not load pg_leakhunt/, 'attach to a process without a safe point says that it has failed');
	is($session->query_safe('CHECKPOINT; SELECT 1'), 1, 'the server goes on after attach to the checkpointer has failed');
	$session->quit;
}

# Requests end with the server, though their file stays.
ask($node, "LOAD 'pg_leakhunt'; SELECT pg_leakhunt_stop_all()");
my $sampling =
  "LOAD 'pg_leakhunt'; SELECT leak_top(1000, 5000); SELECT sampling FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()";
isnt(ask($node, $sampling), "\nt", 'sampling is off after pg_leakhunt_stop_all');
$node->restart;
is(ask($node, $sampling), "\nt", 'sampling is on again in the next server');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/,
	'no process crashes when the module is loaded later');
done_testing();
