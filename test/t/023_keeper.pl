# What is done with the profiles that a crash leaves: by the postmaster, which
# must not take long, by the keeper, and by sessions where there is none.  Needs
# processes that are killed, and files in the place of many of them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;

# Sessions that hold so many bytes each; returns them and their pids.  Until a
# session has its interval it may take a sample or two at the default one, each with
# an error of half a megabyte: what is to become a dump holds much more than
# dump_min_bytes.
sub holding_sessions
{
	my ($node, @bytes) = @_;
	my @sessions = map { $node->background_psql('postgres') } @bytes;

	for my $i (0 .. $#sessions)
	{
		$sessions[$i]->query_safe('SET pg_leakhunt.sample_interval = 1');
		$sessions[$i]->query_safe("SELECT leak_top(1000, $bytes[$i] / 1000)");
	}
	return (\@sessions, [ map { session_pid($_) } @sessions ]);
}

# Kill -9 one process, and return when the server is back.
sub crash
{
	my ($node, $pid, @sessions) = @_;
	my $offset = -s $node->logfile;

	kill 'KILL', $pid;
	wait_until(
		sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ },
		'the server goes on');
	$_->{run}->kill_kill for @sessions;
	return $offset;
}

# The reasons of the dumps of a process.
sub reasons
{
	my ($node, $pid) = @_;

	return join ' ', map { m{\.(\w+)\.heap$} } dump_files($node, $pid);
}

# Wait for the files of profiles, without seconds, to be these.
sub wait_for_files
{
	my ($directory, $pids, $expected, $name) = @_;
	my $pattern = join '|', @$pids;
	my $found = sub {
		join ' ',
		  sort map { s/\.\d+/.S/r } grep { /^($pattern)(\.|$)/ } profile_files($directory);
	};

	wait_until(sub { $found->() eq $expected }, $name) or diag($found->());
}

# Make the profile of a process that never was, from that of another.
my ($model, $model_pid, $model_bytes);

sub copy_profile
{
	my ($copy, $pid, $live_bytes) = @_;
	my $text = slurp_file($model);
	my $pid_at = index($text, pack('l', $model_pid));
	my $live_at = index($text, pack('q', $model_bytes));

	die 'the header is not as expected'
	  if $pid_at < 0 || $pid_at > 64 || $live_at < 0 || $live_at > 512;
	substr($text, $pid_at, 4) = pack('l', $pid);
	substr($text, $live_at, 8) = pack('q', $live_bytes);
	open my $out, '>:raw', $copy or die $!;
	print $out $text;
	close $out;
	chmod 0600, $copy;
}

# Let the copy of a profile end in a hole, up to so many bytes.
sub add_hole
{
	my ($copy, $bytes) = @_;
	my $text = slurp_file($copy);
	my $published_at = index($text, pack('L', length $text));

	die 'the header is not as expected' if $published_at < 4 || $published_at > 512;
	open my $out, '+<:raw', $copy or die $!;
	seek $out, $published_at - 4, 0;
	print $out pack('LL', $bytes, $bytes);
	close $out;
	truncate($copy, $bytes) or die $!;
}

my $node = new_server('main', "restart_after_crash = on\npg_leakhunt.dump_min_bytes = 1MB\n");
my $directory = profile_directory($node);

# The keeper is a process like any other.
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'"
	),
	'there is a keeper');
my $keeper = ask($node,
	"SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'");
my $cpu = sub { join ' ', (split ' ', slurp_file("/proc/$keeper/stat"))[ 13, 14 ] };
my $cpu_before = $cpu->();
ask($node, 'SELECT pg_sleep(1)');
is($cpu->(), $cpu_before, 'and that costs nothing while it waits');

# After a crash, it makes the dumps.
my ($sessions, $pids) = holding_sessions($node, 9 * $MB, 8 * $MB, 20_000);
crash($node, $pids->[1], @$sessions);
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids),
	'all profiles are saved');
is_deeply(
	[ map { reasons($node, $_) } @$pids ],
	[ 'crash', 'crash', '' ],
	'as dumps, if they are worth it');
is( ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	3, 'and stay in the views');
is( ask(
		$node,
		"SELECT live_bytes FROM pg_leakhunt_report WHERE pid = $pids->[0] AND function_of(site) = 'leaking_top'"
	),
	int(9 * $MB / 1000) * 1000,
	'with what the processes held');
like(ask($node, "SELECT pg_leakhunt_dump($pids->[0])"),
	qr/^$pids->[0]\.2\.manual\.heap$/, 'and can be dumped by pid');
like(
	slurp_file($node->logfile),
	qr/\[\d+\] LOG:  profile of process $pids->[0], which did not exit cleanly, saved as/,
	'the log says it');
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
unlike(slurp_file($node->logfile), qr/\[$postmaster\] LOG:  profile of process/,
	'but not the postmaster');

# A dump of a full profile had 31 MB when each call site brought its own copy of the
# statement, the context and the stack: here 60 sites have a statement of 800 bytes.
my $filler = $node->background_psql('postgres');
my $filler_pid = session_pid($filler);
$filler->query_safe("SET pg_leakhunt.sample_interval = 1; SET pg_leakhunt.scope = 'all'");
$filler->query_safe(
	"\\o /dev/null\nSELECT format('SELECT leak_at_depth(g, 10, 1) AS number_%s FROM generate_series(1, 60) g /* %s */', i, repeat('x', 700)) FROM generate_series(1, 700) i \\gexec\n\\o");
my $full = process_row($node, $filler_pid);
is($full->{profile_bytes}, 8 * $MB, 'a profile is as large as may be');
cmp_ok($full->{samples_dropped}, '>', 1000, 'and full');
crash($node, $filler_pid, $filler);
wait_for_files($directory, [$filler_pid], "$filler_pid.S.saved", 'it is saved');
my ($full_dump) = dump_files($node, $filler_pid);
my $full_bytes = -s $full_dump;
like(slurp_file($full_dump), qr/^# pg_leakhunt dump_version=\d+ bytes=$full_bytes +reason=crash /m,
	'its dump states its size');
cmp_ok($full_bytes, '<=', 6 * $MB, 'and is smaller than the profile');
note("the dump of a full profile with $full->{sites} sites: $full_bytes bytes");

# A stop ends the keeper, a start removes what is saved.
$node->restart;
is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'the next start removes what is saved');

# A keeper that is killed, and one that is killed again and again by a profile.
($sessions, $pids) = holding_sessions($node, 8_000_000, 8_000_000, 8_000_000);
$node->stop('immediate');
$_->{run}->kill_kill for @$sessions;
append_to_file("$directory/99999999.1", 'damaged');
append_to_file("$directory/tmp.99999998", 'unfinished');
rename("$directory/$pids->[0]", "$directory/$pids->[0].1.tried") or die $!;
rename("$directory/$pids->[1]", "$directory/$pids->[1].1.retried") or die $!;
my $offset = -s $node->logfile;
$node->start;
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids),
	'what somebody was killed at is no profile to wait for');
is_deeply(
	[ map { reasons($node, $_) } @$pids ],
	[ 'crash', '', 'crash' ],
	'it is tried once more');
like(
	slurp_file($node->logfile, $offset),
	qr/WARNING:  profile of process $pids->[1], which did not exit cleanly, was not saved/,
	'and then given up');
like(
	slurp_file($node->logfile, $offset),
	qr/WARNING:  removed file "99999999.1" from the directory of the profiles/,
	'a damaged file does not stay');
is(join(' ', grep { /^(tmp|9999999)/ } profile_files($directory)),
	'', 'nor does an unfinished one');
$keeper = ask($node,
	"SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'");
crash($node, $keeper);
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'"
	),
	'a killed keeper comes back');

# A directory that can't be written to: one WARNING, and a new try at the next
# start.
my $dumps = $node->data_dir . '/pg_leakhunt';
rename($dumps, "$dumps.aside") or die $!;
append_to_file($dumps, 'not a directory');
($sessions, $pids) = holding_sessions($node, 8_000_000, 8_000_000);
$offset = crash($node, $pids->[0], @$sessions);
wait_until(
	sub { grep { /\.failed$/ } profile_files($directory) },
	'what could not be written stays');
ask($node, 'SELECT count(*) FROM pg_leakhunt_processes; SELECT pg_sleep(1)');
is( () = slurp_file($node->logfile, $offset) =~
	  /WARNING:  could not (write dump file|create directory)/g,
	1,
	'with one WARNING');
$node->stop;
unlink $dumps;
rename("$dumps.aside", $dumps) or die $!;
$node->start;
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids), 'it is saved by the next');

# What many processes leave is bounded, before the server goes on; the largest
# stay.
my ($saved) = grep { /^$pids->[0]\./ } profile_files($directory);
$model = $node->basedir . '/model';
$model_pid = $pids->[0];
$model_bytes =
  ask($node, "SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $model_pid");
is(system('cp', "$directory/$saved", $model), 0, 'a profile to copy');
$node->append_conf('postgresql.conf', "pg_leakhunt.dump_keep = 5\n");
$node->stop;
copy_profile("$directory/" . (90_000_000 + $_), 90_000_000 + $_,
	(8 + $_) * $MB)
  for 1 .. 20;
my $file_bytes = -s "$directory/90000001";
$offset = -s $node->logfile;
$node->start;
like(
	slurp_file($node->logfile, $offset),
	qr/LOG:  removed 15 profiles \(@{[15 * $file_bytes]} bytes\) of processes that did not exit cleanly/,
	'a start says what it removes');
wait_until(
	sub { 5 == grep { /^9000.*saved$/ } profile_files($directory) },
	'dump_keep profiles are saved');
is( join(' ', map { s/.*\/(\d+)\..*/$1/r } glob("$dumps/9*.crash.heap")),
	join(' ', 90_000_016 .. 90_000_020),
	'the largest');

# Each reason has its own number: exits push out neither what a crash has left nor what
# somebody asked for.
my @kept = glob("$dumps/*.crash.heap $dumps/*.manual.heap");
for (1 .. 8)
{
	my $leaver = $node->background_psql('postgres');
	my $leaver_pid = session_pid($leaver);

	$leaver->query_safe('SET pg_leakhunt.sample_interval = 1');
	$leaver->query_safe('SELECT leak_top(1000, 8000)');
	$leaver->quit;
	is(problem_at_exit($node, $leaver_pid), undef, 'a session leaves a dump');
}
is(scalar(() = glob("$dumps/*.exit.heap")), 5, 'dump_keep dumps of exits stay');
is_deeply([ glob("$dumps/*.crash.heap $dumps/*.manual.heap") ],
	\@kept, 'and all of crashes and on request');

# No more than 16 stay when the server goes on after a crash.
set_and_reload($node, 'pg_leakhunt.dump_keep' => 100);
copy_profile("$directory/" . (90_000_100 + $_), 90_000_100 + $_, 8 * $MB)
  for 1 .. 20;
$keeper = ask($node,
	"SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'");
crash($node, $keeper);
wait_until(
	sub {
		my @files = grep { /^9/ } profile_files($directory);
		return 16 == @files && 16 == grep { /saved$/ } @files;
	},
	'16 profiles stay') or diag(join ' ', profile_files($directory));
is(scalar(() = glob("$dumps/900001*.crash.heap")), 20, 'all are dumps');
$node->stop;

# Without a place for the keeper, sessions do its work.
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
copy_profile("$directory/" . (90_000_200 + $_), 90_000_200 + $_, 8 * $MB)
  for 1 .. 3;
$node->start;
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'"
	),
	0,
	'no keeper');
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash' AND pid BETWEEN 90000201 AND 90000203"
	),
	3,
	'whoever looks at dumps makes them');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	3, 'and the profiles stay');

# A profile that can't be read, for want of memory, ends neither the work on the
# others, nor that the session can be cancelled.
my $short = $node->background_psql('postgres', on_error_stop => 0);
my $short_pid = session_pid($short);
my $look = "SELECT pid FROM pg_leakhunt_processes WHERE pid / 100 = 900003 ORDER BY pid";
$short->query_safe($look);
copy_profile("$directory/90000301", 90_000_301, 9 * $MB);
add_hole("$directory/90000301", 7 * $MB);
copy_profile("$directory/90000302", 90_000_302, 8 * $MB);
my ($address_pages) = slurp_file("/proc/$short_pid/statm") =~ /^(\d+)/;
system('prlimit', '--pid', $short_pid, '--as=' . ($address_pages * 4096 + 3 * $MB) . ':') == 0 or die;
$short->query($look);
like(
	$short->{stderr},
	qr/WARNING:  could not save the profile of process 90000301, which did not exit cleanly\n.*out of memory/,
	'no memory for one profile');
$short->{stderr} = '';
system('prlimit', '--pid', $short_pid, '--as=unlimited:') == 0 or die;
is(join(' ', map { m{/(\d+)\.[^/]*$} } glob("$dumps/900003*")),
	'90000302', 'the other one becomes a dump');
$short->query_until(qr//, "SELECT pg_sleep(600);\n");
wait_until(sub { ask($node, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $short_pid") eq 't' },
	'the session sleeps');
ask($node, "SELECT pg_cancel_backend($short_pid)");
like($short->query("SELECT 'awake'"), qr/awake/, 'and can be woken');
$short->quit;
unlink glob("$directory/900003*"), glob("$dumps/900003*");
rename($dumps, "$dumps.aside") or die $!;
append_to_file($dumps, 'not a directory');
copy_profile("$directory/90000301", 90_000_301, 8 * $MB);
my $stderr = '';
for (1 .. 3)
{
	my (undef, undef, $part) = $node->psql('postgres',
		'SELECT count(*) FROM pg_leakhunt_processes');
	$stderr .= $part;
}
is(() = $stderr =~ /WARNING:  could not create directory|WARNING:  could not write/g,
	1, 'sessions do not try again and again what fails');
unlink $dumps;
rename("$dumps.aside", $dumps) or die $!;
$node->stop;
unlink glob("$directory/9*");
my $main_directory = $directory;

# With session_preload_libraries, the postmaster knows nothing of profiles.
my $late = PostgreSQL::Test::Cluster->new('late');
$late->init;
$late->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_leakhunt'\nrestart_after_crash = on\npg_leakhunt.dump_min_bytes = 1MB\n");
$late->start;
define_leakers($late);
$directory = profile_directory($late);
my @dead;
for (1 .. 3)
{
	($sessions, $pids) = holding_sessions($late, (8_000_000) x 4);
	push @dead, @$pids;
	crash($late, $pids->[0], @$sessions);
}
is(ask($late, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	12, 'crashed processes in sessions that loaded the module');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash'"),
	12, 'became dumps');
($sessions, $pids) = holding_sessions($late, (8_000_000) x 8);
crash($late, $pids->[0], @$sessions);
ask($late, 'SELECT count(*) FROM pg_leakhunt_processes');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	16, 'no more than 16 stay');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash'"),
	20, 'all became dumps');
$late->restart;
is(ask($late, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'a restart of the server removes them');

# Two servers write their dumps to one directory.
$dumps = $late->data_dir . '/pg_leakhunt';
$node->append_conf('postgresql.conf',
	"max_worker_processes = 8\npg_leakhunt.dump_directory = '$dumps'\n");
append_to_file("$dumps/4711.1.tmp", 'somebody is writing it');
append_to_file("$dumps/4712.1.tmp", 'nobody is writing it');
append_to_file("$dumps/mine.tmp", "somebody's");
utime(time - 7200, time - 7200, "$dumps/4712.1.tmp", "$dumps/mine.tmp") or die $!;
mkdir $main_directory, 0700 if !-d $main_directory;
copy_profile("$main_directory/90000401", 90_000_401, 8 * $MB);
$node->start;
wait_until(sub { -e "$dumps/90000401.1.crash.heap" }, 'the other server dumps, too');
is( join(' ', map { s{.*/}{}r } glob("$dumps/*.tmp")),
	'4711.1.tmp mine.tmp',
	'and removes no file that is being written');
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
append_to_file("$dumps/$pid.1.exit.heap", "the other server's");
$session->query_safe('SELECT leak_top(64, 1000000)');
$session->quit;
wait_until(sub { -e "$dumps/$pid.2.exit.heap" },
	'a name that the other server has taken is left to it');
is(slurp_file("$dumps/$pid.1.exit.heap"), "the other server's", 'as it was');

$late->stop;
$node->stop;
unlike(slurp_file($_->logfile), qr/PANIC|signal (6|11)/, 'nobody crashed by itself')
  for $node, $late;
done_testing();
