# Tools that set breakpoints in the functions that allocate, while each allocation is a
# sample: gdb, and uprobes and uretprobes as perf and bpftrace set them, for all processes
# of the server at once.  Needs gdb, and somebody who sets the uprobes (test/trial).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('gdb');

my $folder = PostgreSQL::Test::Utils::tempdir();
my $node = new_server('main', "pg_leakhunt.sample_interval = 1\n");
my $work = 'SELECT leak_top(64, 1000), leak_generation(100, 300), leak_by_repalloc(100, 100), allocate_in_balance(100, 3000)';

# A session, and its pid.
sub new_session
{
	my $session = $node->background_psql('postgres');

	return ($session, session_pid($session));
}

# What a session holds by the fixture's functions, with the innermost named frames.
sub held
{
	my ($pid) = @_;

	return ask($node, qq{
		SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
			SELECT live_bytes || ' by ' || array_to_string(functions(stack), ' ') AS line
			FROM pg_leakhunt_report($pid) WHERE live_bytes > 0 AND array_to_string(functions(stack), ' ') ~ 'leaking_top|leak_generation|leak_by_repalloc') AS found});
}

# What is wrong with a process' samples: none may be lost, nor its sampling be at an end.
sub faults_of
{
	my ($pid) = @_;

	return ask($node, "SELECT samples_dropped || ' lost, ' || CASE WHEN sampling THEN 'sampling' ELSE 'not sampling' END FROM pg_leakhunt_sampling WHERE pid = $pid");
}

# Let gdb stop a process at each of some functions, so often, while the session runs that;
# then it removes its breakpoints and goes.  Returns what gdb printed.
sub trace_with_gdb
{
	my ($session, $pid, $query, $hits, @functions) = @_;
	my $ready = "$folder/ready";
	my $output = '';

	unlink $ready, "$folder/commands";
	append_to_file("$folder/commands", join "\n",
		'set pagination off', 'set breakpoint pending off', 'set confirm off',
		(map { "break $_" } @functions),
		"ignore 1 $hits", "shell touch $ready", 'continue', 'backtrace 5',
		'finish', 'continue', 'delete', 'detach', '');
	my $gdb = IPC::Run::start([ 'gdb', '-nx', '-batch', '-x', "$folder/commands", '-p', $pid ],
		'<', '/dev/null', '>&', \$output, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until(sub { $gdb->pump_nb if $gdb->pumpable; -e $ready || !$gdb->pumpable }, 'gdb has set its breakpoints');
	$session->query_safe($query);
	$gdb->finish;
	return $output;
}

my ($plain, $plain_pid) = new_session();
$plain->query_safe($work);
my $expected = held($plain_pid);
like($expected, qr/^64000 by leaking_top leak_top /m, 'a session that nobody traces has its stacks');

for my $function (qw(MemoryContextAlloc palloc pfree repalloc plh_live_samples_insert))
{
	my ($session, $pid) = new_session();
	# what is not in any table of symbols can't be stopped at
	my $output = trace_with_gdb($session, $pid, $work, $function eq 'repalloc' ? 50 : 90, $function);

  SKIP:
	{
		skip "gdb may not trace: $output", 3 if $output =~ /ptrace:/;
		skip "gdb knows no $function", 3 if $output =~ /Function "\w+" not defined/;
		like($output, qr/Breakpoint 1, .*$function/, "gdb stops at $function");
		is(held($pid), $expected, "the stacks are the same with a breakpoint at $function");
		is(faults_of($pid), '0 lost, sampling', "nothing is lost with a breakpoint at $function");
	}
	$session->quit;
}

# A library that is loaded, and changes the tables, while there are breakpoints.
my $late = PostgreSQL::Test::Cluster->new('late');
$late->init;
$late->start;
define_leakers($late);
{
	my $session = $late->background_psql('postgres');
	my $pid = session_pid($session);
	my $output = trace_with_gdb($session, $pid,
		"LOAD 'pg_leakhunt'; SET pg_leakhunt.sample_interval = 1; SELECT leak_top(64, 1000)", 90, 'MemoryContextAlloc', 'palloc', 'pfree');

  SKIP:
	{
		skip 'gdb may not trace', 1 if $output =~ /ptrace:/;
		is($session->query("SELECT sum(live_bytes) FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'leaking_top'"),
			64_000, 'a library that is loaded while there are breakpoints samples');
	}
	$session->quit;
}
$late->stop;
unlike(slurp_file($late->logfile), qr/PANIC|TRAP|terminated by signal|WARNING/, 'no process has crashed that loaded the library while there were breakpoints');

# Let uprobes of that kind be set, "entry", "return" or "none", by who may do it.
sub set_probes
{
	my ($kind) = @_;

	unlink "$ENV{UPROBES}/is.$_" for qw(entry return none);
	append_to_file("$ENV{UPROBES}/want.new", $kind);
	rename("$ENV{UPROBES}/want.new", "$ENV{UPROBES}/want") or die $!;
	return wait_until(sub { -e "$ENV{UPROBES}/is.$kind" }, "uprobes: $kind");
}

SKIP:
{
	skip 'uprobes can not be set here', 1 if !$ENV{UPROBES};

	# for sessions that begin with them, and for one that is there
	for my $kind (qw(entry return))
	{
		my ($early, $early_pid) = new_session();
		$early->query_safe('SELECT 1');
		set_probes($kind);
		my ($late, $late_pid) = new_session();
		$_->query_safe($work) for $early, $late;
		set_probes('none');
		for my $pid ($early_pid, $late_pid)
		{
			my $name = $pid == $early_pid ? "uprobes ($kind) in a session that was there" : "uprobes ($kind) in a new session";

			is(faults_of($pid), '0 lost, sampling', "$name: nothing is lost");
			if ($kind eq 'entry')
			{
				is(held($pid), $expected, "$name: the stacks are the same");
				next;
			}
			# the kernel has replaced the return address into leaking_top
			is( ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report($pid) WHERE site ~ '^leak_top' AND function_of(stack[1]) = '[uretprobe]'"),
				64_000, "$name: the call site is the nearest function that can be known");
			is(ask($node, "SELECT count(*) FROM pg_leakhunt_report($pid) WHERE array_to_string(stack, ' ') ~ 'JIT code'"),
				0, "$name: nothing is taken for compiled code");
		}
		# without the probes, all is as it was
		$early->query_safe('SELECT leak_top(64, 10)');
		is(ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report($early_pid) WHERE function_of(site) = 'leaking_top'"),
			$kind eq 'entry' ? 64_640 : 640, "uprobes ($kind): after them, stacks are whole");
		$_->quit for $early, $late;
	}

	# They come and go all the time while sessions work.
	my ($output, $errors) = ('', '');
	append_to_file("$folder/work.sql", "$work;\n");
	my $bench = IPC::Run::start(
		[ 'pgbench', '-n', '-c', 4, '-T', 20, '-f', "$folder/work.sql", '-d', $node->connstr('postgres') ],
		'>', \$output, '2>', \$errors);
	while ($bench->pumpable)
	{
		set_probes($_) for qw(entry return);
		$bench->pump_nb;
	}
	ok($bench->finish, 'sessions work while uprobes come and go') or diag($errors);
	set_probes('none');
}

$plain->quit;
$node->stop;
is_deeply([ grep { /PANIC|TRAP|terminated by signal|WARNING|pg_leakhunt is inactive/ } split /\n/, slurp_file($node->logfile) ],
	[], 'nobody crashed, and there is no warning in the log');
done_testing();
