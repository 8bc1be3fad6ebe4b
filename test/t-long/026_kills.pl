# Processes of a busy server that die at random times, of all signals, the
# server's own and others': it comes back, and what they held is there.  Needs
# processes, kills and restarts.
#
# KILLS is their number; one of each kind comes first, and after that the choices
# follow from SEED.  See test/kills.
use strict;
use warnings;

use Digest::MD5;
use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

my $kills = $ENV{KILLS} || 20;
my $seed = $ENV{SEED} || 4711;
srand($seed);
note("$kills kills, seed $seed");

# A recovery takes longer than this only if something is wrong.
my $recovery_seconds = $PostgreSQL::Test::Utils::timeout_default;

my $conf = <<'CONF';
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 0
pg_leakhunt.dump_growth = 2MB
pg_leakhunt.dump_keep = 500
pg_leakhunt.max_profile_size = 2MB
CONF
my $node = new_server('main', $conf . <<'CONF');
restart_after_crash = on
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 10
max_connections = 60
CONF
my $directory = profile_directory($node);
my $dumps = $node->data_dir . '/pg_leakhunt';
$node->command_ok(
	[
		'pgbench', '-i', '-s', 1, '-q', '-h', $node->host, '-p', $node->port,
		'postgres'
	],
	'pgbench tables');

# Another server of the same user, with files of every kind.
my $beside = new_server('beside', $conf . "autovacuum = off\n");
my $idle = $beside->background_psql('postgres');
my $idle_pid = session_pid($idle);
$idle->set_query_timer_restart;
$idle->query_safe(
	"SELECT leak_top(64, 1000); SELECT pg_leakhunt_baseline_all(); SELECT pg_leakhunt_dump(pg_backend_pid())"
);
my @idle_files = (
	(map { profile_directory($beside) . "/$_" } $idle_pid, "baseline.$idle_pid"),
	glob($beside->data_dir . '/pg_leakhunt/*.manual.profile'));

sub fingerprints
{
	return map { "$_ " . Digest::MD5::md5_hex(slurp_file($_)) } @idle_files;
}

# The session stands still, as even an idle one changes its profile now and then.
kill 'STOP', $idle_pid;
my @fingerprints = fingerprints();
is(scalar @fingerprints, 3, 'the other server has a profile, a baseline and a dump');

# The workload: sessions that come and go, each with one of these.
my %scripts = (
	leaks => q{
		SELECT leak_top(64, 2000), leak_cache(1000, 500);
		SELECT leak_named_context('context ' || i, 100) FROM generate_series(1, 100) i;
		SELECT leak_by_repalloc(100, 500), allocate_and_reset(100, 1000);},
	growth => q{
		SELECT leak_top(1000, 500), pg_sleep(0.01) FROM generate_series(1, 20);
		SELECT leak_top(100000, 20), pg_sleep(0.01) FROM generate_series(1, 20);},
	ddl => q{
		CREATE TEMP TABLE t AS SELECT i, repeat('x', i) s FROM generate_series(1, 300) i;
		CREATE INDEX ON t (i);
		ANALYZE t;
		ALTER TABLE t ADD COLUMN c int DEFAULT 3;
		VACUUM pgbench_branches;
		DROP TABLE t;},
	plpgsql => q{
		DO $$ BEGIN
			FOR i IN 1 .. 300 LOOP
				BEGIN
					EXECUTE format('SELECT %s / %s', i, i % 3);
				EXCEPTION WHEN division_by_zero THEN NULL;
				END;
			END LOOP;
		END $$;},
	readers => q{
		SELECT count(*) FROM pg_leakhunt_processes;
		SELECT count(*) FROM pg_leakhunt_contexts;
		SELECT pg_leakhunt_baseline_all();
		SELECT pg_leakhunt_dump(pid) FROM pg_leakhunt_processes ORDER BY random() LIMIT 2;
		SELECT count(*) FROM pg_leakhunt_dumps;},
	symbols => q{
		SELECT count(*) FROM pg_leakhunt_suspects;
		SELECT count(*) FROM pg_leakhunt_report;
		SELECT length(pg_leakhunt_folded(pid)) FROM pg_leakhunt_processes ORDER BY random() LIMIT 2;
		SELECT pg_leakhunt_start(pid, 1 + (random() * 1000)::int) FROM pg_leakhunt_processes ORDER BY random() LIMIT 1;
		SELECT count(*) FROM pg_leakhunt_check('SELECT 1', 2, 1);});
my $work = $node->basedir . '/work';
mkdir $work or die $!;
append_to_file("$work/$_.sql", $scripts{$_}) for keys %scripts;

# Each worker is a process group of its own.  It waits for a server that is down.
my @workers;
sub start_worker
{
	my ($command) = @_;
	my $pid = fork() // die $!;

	if ($pid == 0)
	{
		setpgrp;
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		$ENV{PGHOST} = $node->host;
		$ENV{PGPORT} = $node->port;
		$ENV{PGDATABASE} = 'postgres';
		exec 'bash', '-c', "while :; do $command || sleep 0.5; sleep 0.05; done" or die $!;
	}
	push @workers, $pid;
}

sub stop_workers
{
	kill 'KILL', map { -$_ } @workers;
	waitpid $_, 0 for @workers;
	@workers = ();
}

END
{
	my $status = $?;
	stop_workers();
	kill 'CONT', $idle_pid if $idle_pid;
	$? = $status;
}
start_worker("psql -X -q -f $work/$_.sql") for sort keys %scripts;
start_worker("psql -X -q -f $work/growth.sql");
start_worker('pgbench -n -c 2 -t 50');

# The parent of a process, and its command line; nothing if it is gone.
sub process
{
	my ($pid) = @_;
	my ($ppid) = (eval { slurp_file("/proc/$pid/stat") } // '') =~ /\) [A-Y] (\d+)/
	  or return;
	my $title = eval { slurp_file("/proc/$pid/cmdline") } // '';

	return ($ppid, $title =~ tr/\0/ /r);
}

# Pids and titles of the children of these processes.
sub children
{
	my (@parents) = @_;
	my %is_parent = map { $_ => 1 } @parents;
	my %children;

	for my $pid (map { m{(\d+)$} } glob('/proc/[0-9]*'))
	{
		my ($ppid, $title) = process($pid) or next;
		$children{$pid} = $title if $is_parent{$ppid};
	}
	return %children;
}

sub postmaster
{
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	return $pid;
}

# A session that grows until it ends, and nothing else.
my $grower;
sub growing_session
{
	$grower->{run}->kill_kill if $grower;
	$grower = $node->background_psql('postgres');
	my $pid = session_pid($grower);
	$grower->query_until(qr//,
		"DO \$\$ BEGIN LOOP PERFORM leak_top(100000, 20), pg_sleep(0.01); END LOOP; END \$\$;\n");
	return $pid;
}

# A process of the server at random, of those whose title matches; it may have
# ended by now.
sub victim
{
	my ($what) = @_;
	my %children = children(postmaster());

	return growing_session() if $what eq 'grower';

	%children = children(keys %children) if $what eq 'symbolizer';

	my $wanted =
	    $what eq 'auxiliary' ? qr/checkpointer|writer|autovacuum|launcher|keeper/
	  : $what eq 'backend' ? qr/\[local\]/
	  : qr//;
	my @pids = grep { $children{$_} =~ $wanted } sort { $a <=> $b } keys %children;

	return $pids[ int rand @pids ];
}

# What psql answers: exit status, output, messages.  It gets no standard input, as
# it may be gone before it has read that.
sub try_psql
{
	my ($query) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', $query ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	chomp $out;
	return ($? >> 8, $out, $err);
}

# Waits, without a test, until a condition holds.
sub wait_for
{
	my ($condition, $seconds) = @_;
	my $end = Time::HiRes::time() + $seconds;

	until ($condition->())
	{
		return 0 if Time::HiRes::time() > $end;
		Time::HiRes::sleep(0.05);
	}
	return 1;
}

my ($slowest, %signalled, %done) = (0);

# Stop a process.  One that was stopped can't exit: either it has exited before, or it
# still has the profile that it has now when the signal arrives.  Returns nothing if it
# has exited.
sub stand_still
{
	my ($pid) = @_;
	my $state = '';

	kill 'STOP', $pid or return;
	wait_for(
		sub {
			($state) = (eval { slurp_file("/proc/$pid/stat") } // '') =~ /\) ([A-Z]) /;
			return ($state // 'X') =~ /[TXZ]/;
		},
		$recovery_seconds);
	return if ($state // 'X') ne 'T';
	return -e "$directory/$pid" ? 'published' : 'unpublished';
}

# Let a process get a signal, or be one that the kernel kills for its memory, in a
# group with a tiny limit.
sub strike
{
	my ($pid, $signal) = @_;
	my $had = stand_still($pid) // return;

	$signalled{$pid} = $signal;
	if ($signal eq 'OOM')
	{
		append_to_file("$ENV{OOM_CGROUP}/cgroup.procs", "$pid\n");
	}
	else
	{
		kill $signal, $pid;
	}
	kill 'CONT', $pid;
	return $had;
}

# How many processes the kernel has killed in that group, by either version's count.
sub oom_kills
{
	my ($file) = grep { -e $_ } map { "$ENV{OOM_CGROUP}/memory.$_" } qw(events oom_control);

	return slurp_file($file) =~ /^oom_kill (\d+)/m ? $1 : die "no count in $file";
}

# Dumps of a process.
sub dumps_of
{
	my ($pid, $reason) = @_;
	my @files = glob("$dumps/$pid.*.$reason.profile");

	return scalar @files;
}

# Is something of a dead process there?
sub is_accounted
{
	my ($pid) = @_;
	my ($rc, $out) = try_psql(
		"SELECT count(*) FROM pg_leakhunt_processes WHERE pid = $pid AND state = 'crashed'");

	return $rc == 0 && ($out > 0 || dumps_of($pid, 'crash') > 0);
}

# The server must accept connections soon, and answer.
sub check_recovery
{
	my ($name) = @_;
	my $start = Time::HiRes::time();
	my $up = wait_for(sub { (try_psql('SELECT 1'))[0] == 0 },
		$recovery_seconds);
	my $seconds = Time::HiRes::time() - $start;
	my ($rc, $out, $err);

	$slowest = $seconds if $seconds > $slowest;
	return 'the server is not back' if !$up;
	($rc, $out, $err) = try_psql(
		'SELECT count(*) FROM pg_leakhunt_processes; SELECT count(*) FROM pg_leakhunt_contexts; SELECT count(*) FROM pg_leakhunt_dumps; SELECT count(*) > 0 FROM pg_leakhunt_report(\'all\', false)');
	return $rc == 0 ? () : "views: $err";
}

# The ways to die, and how often each is taken.
my %ways = (
	'KILL backend' => 8, 'SEGV backend' => 3, 'ABRT backend' => 3,
	'QUIT backend' => 2, 'BUS backend' => 1, 'TERM backend' => 5,
	'INT backend' => 4, 'KILL auxiliary' => 4, 'ABRT auxiliary' => 1,
	'KILL symbolizer' => 3, 'KILL postmaster' => 2, 'OOM backend' => 2);
delete $ways{'OOM backend'} if !$ENV{OOM_CGROUP};
my @lots = map { ($_) x $ways{$_} } sort keys %ways;

# One of each that surely is a death.  A backend that happens to be in the group may
# not need what it has not got; one that grows does.  And one that has not begun, or is
# about to go, says nothing of its end by SIGTERM.
my @first = map { s/(OOM|TERM) backend/$1 grower/r } grep { !/INT|symbolizer/ } sort keys %ways;

# What the log says of a process that such a signal ends.
my %deaths = (
	KILL => 'was terminated by signal 9', OOM => 'was terminated by signal 9',
	SEGV => 'was terminated by signal 11', ABRT => 'was terminated by signal 6',
	BUS => 'was terminated by signal 7', QUIT => 'exited with exit code 2',
	TERM => 'terminating connection due to administrator command');

sub kill_postmaster
{
	my $postmaster = postmaster();
	my @children = keys %{ { children($postmaster) } };

	# until somebody has waited for it, the pid is taken for a server that runs
	$node->kill9;
	wait_for(sub { !-e "/proc/$postmaster" && !grep { (process($_))[0] } @children },
		$recovery_seconds)
	  or return 'children of a killed postmaster go on';
	return $node->start(fail_ok => 1) ? () : 'the server does not start';
}

# What is wrong with a process that was struck.
sub check_death
{
	my ($pid, $signal, $had, $way) = @_;
	my @problems = check_recovery($way);

	return @problems if @problems || $signal eq 'TERM' || $had ne 'published';
	return if $signal eq 'OOM' && dumps_of($pid, 'exit') > 0;
	return wait_for(sub { is_accounted($pid) }, $recovery_seconds) ? () :
	  "nothing is left of process $pid, which had a profile";
}

# One death; returns what is wrong.
sub die_once
{
	my ($way) = @_;
	my ($signal, $what) = split / /, $way;

	return (kill_postmaster(), check_recovery($way)) if $what eq 'postmaster';

	my ($pid, $had);
	wait_for(
		sub {
			$pid = victim($what) // return 0;
			return defined($had = strike($pid, $signal));
		},
		10)
	  or return $what eq 'symbolizer' ? () : "there is no $what";
	$done{$way}++;
	return check_recovery($way) if $signal eq 'INT' || $what eq 'symbolizer';

	my $died = wait_for(sub { !(process($pid))[0] }, 10);
	return check_death($pid, $signal, $had, $way) if $died;
	return $signal =~ /OOM|TERM/ ? () : "process $pid lives";
}

# One death that must be of its kind; returns what is wrong.
sub die_for_sure
{
	my ($way) = @_;
	my ($signal, $what) = split / /, $way;
	my $log_at = -s $node->logfile;
	my $oom_kills = $signal eq 'OOM' ? oom_kills() : 0;
	my @problems = die_once($way);
	my $log = substr(slurp_file($node->logfile), $log_at);

	return @problems if @problems || $what eq 'postmaster';
	my ($pid) = grep { $signalled{$_} eq $signal } $log =~ /PID (\d+)\) $deaths{$signal}/g;
	$pid = 1 if $signal eq 'TERM' && $log =~ /FATAL:  $deaths{TERM}/;
	push @problems, "the log does not say that somebody $deaths{$signal}" if !$pid;
	push @problems, 'the kernel has not killed for memory'
	  if $signal eq 'OOM' && oom_kills() != $oom_kills + 1;
	return @problems;
}

for my $way (@first)
{
	is_deeply([ die_for_sure($way) ], [], "first: $way");
}
SKIP:
{
	skip "no death for want of memory: $ENV{NO_OOM_CGROUP}", 1 if !$ENV{OOM_CGROUP};
	is($done{'OOM grower'}, 1, 'a process has died for want of memory');
}
for my $number (@first + 1 .. $kills)
{
	my $way = $lots[ int rand @lots ];

	Time::HiRes::sleep(rand 0.5);
	is_deeply([ die_once($way) ], [], "$number: $way");
}
note("$done{$_} of $_") for sort keys %done;
note("slowest recovery $slowest s");

# Nobody has died but those that were to.
my @deaths = slurp_file($node->logfile) =~ /\(PID (\d+)\) was terminated by (signal \d+)/g;
my @unexpected;
while (my ($pid, $signal) = splice(@deaths, 0, 2))
{
	push @unexpected, "$pid by $signal" if !$signalled{$pid};
}
is_deeply(\@unexpected, [], 'no process has died but those that were to');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:  /, 'the log has no assertion that failed and no PANIC');

# What has crashed is dumped at the next start at the latest.  Such a profile can be
# looked at until the start after that.
stop_workers();
$grower->{run}->kill_kill if $grower;
$node->stop;
$node->start;
wait_until(
	sub {
		!grep { m{/\d+\.[^/]*$} && !/\.saved$/ || m{/(\d+)$} && !-e "/proc/$1" } glob("$directory/*");
	},
	'all profiles of the dead have become dumps')
  or diag("left: @{[ glob(qq($directory/*)) ]}");
$node->restart;
is( ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'no crashed profile is left after the next start');

# the sessions that ask write one each, when they exit, and may remove old ones
my @earlier = glob("$dumps/*.profile");
my ($rc, $listed, $err) = try_psql('SELECT count(*) FROM pg_leakhunt_dumps');
my @later = glob("$dumps/*.profile");
is($err, '', 'the dumps can be listed without a warning');
my $least = grep { -e $_ } @earlier;
my $most = keys %{ { map { $_ => 1 } @earlier, @later } };
ok($listed >= $least && $listed <= $most, 'all dumps are listed')
  or diag("$listed of $least to $most");
is( ask($node, q{
	SELECT count(*) FROM (SELECT file, live_bytes FROM pg_leakhunt_dumps
		WHERE reason = 'crash' ORDER BY size_bytes LIMIT 20) d
	WHERE live_bytes <> (SELECT coalesce(sum(live_bytes), 0) FROM pg_leakhunt_report(d.file))}),
	0,
	'sums of crash dumps');
$node->stop;
is_gone($directory, 'nothing is left for others to trip over');
is_deeply([ grep { -M $_ > 1 / 24 } glob("$dumps/*.tmp") ], [],
	'what was begun of a dump stays for an hour at most');
is_deeply([ fingerprints() ], \@fingerprints, "the other server's files are as they were");
kill 'CONT', $idle_pid;
is($idle->query_safe("SELECT state FROM pg_leakhunt_processes WHERE pid = pg_backend_pid()"),
	'live', 'the idle session has its profile after all kills');
$idle->quit;
$beside->stop;

done_testing();
