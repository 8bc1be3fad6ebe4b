# What is done with the profiles that a crash leaves: by the postmaster, which
# must not take long, by the keeper, and by sessions where there is none.  Needs
# processes that are killed, and files in the place of many of them.
use strict;
use warnings;

use Fcntl qw(:DEFAULT :flock);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;

# Sessions that hold a number of bytes each; returns them and their pids.  Until a
# session has its interval it may take a sample or two at the default one, each with
# an error of half a megabyte, as each background process may: what is to become a dump
# holds much more than dump_min_bytes, and that is more than a few samples.
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
		'the server goes on after a crash');
	$_->{run}->kill_kill for @sessions;
	return $offset;
}

# The reasons of the dumps of a process.
sub reasons
{
	my ($node, $pid) = @_;

	return join ' ', map { m{\.(\w+)\.profile$} } dump_files($node, $pid);
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

# Make the profile of a process of another cluster: a version that is not ours, too.
sub copy_profile_of_other
{
	my ($copy) = @_;
	my $text = slurp_file($model);

	substr($text, 8, 4) = pack('L', 9999);
	substr($text, 48, 8) = pack('Q', 1 + unpack('Q', substr($text, 48, 8)));
	open my $out, '>:raw', $copy or die $!;
	print $out $text;
	close $out;
	return;
}

# Let the copy of a profile end in a hole, up to a size.
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

my $node = new_server('main', "$quick_keeper\nrestart_after_crash = on\npg_leakhunt.dump_min_bytes = 4MB\n");
my $directory = profile_directory($node);

# The keeper is a process like any other.  One that was killed may have kept a sample, and is shown.
my $keepers = q{pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper' AND state <> 'crashed'};
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM $keepers"
	),
	'there is a keeper');
my $keeper = ask($node,
	"SELECT pid FROM $keepers");

# It sleeps from one look to the next, for 100 ms here: a reload wakes it before.
my $look_offset = -s $node->logfile;
wait_for_looks($node) for 1 .. 3;
my @looks = slurp_file($node->logfile, $look_offset) =~ /^\S+ \d+:\d+:(\d+\.\d+) .*\[$keeper\] DEBUG:  the pg_leakhunt keeper has looked/mg;
cmp_ok(scalar(@looks), '>=', 18, 'the keeper looks again and again');
is(scalar(grep { my $pause = $looks[$_] - $looks[ $_ - 1 ]; $pause >= 0 && $pause < 0.09 } 1 .. $#looks), 0, 'and sleeps meanwhile');

# A directory that was removed and made again is another one, which it locks anew: or
# sessions would do its work beside it.
sub is_locked
{
	sysopen(my $opened, $directory, O_RDONLY) or return 0;
	return !flock($opened, LOCK_EX | LOCK_NB);
}
wait_until(\&is_locked, 'the keeper has the lock of the directory of profiles');
run_tool('rm', '-r', $directory);
my $maker = $node->background_psql('postgres');
my $maker_pid = session_pid($maker);
$maker->query_safe('SET pg_leakhunt.sample_interval = 1');
wait_until(
	sub {
		$maker->query_safe('SELECT leak_top(10, 1000)');
		return -d $directory;
	},
	'a session makes a directory again that was removed');
wait_until(\&is_locked, 'the keeper has the lock of a directory that was made again');
$maker->quit;
# a session that is still on its way out would be one more that died in the crash
is_gone("/proc/$maker_pid", 'that session is gone');

# After a crash, it makes the dumps.
my ($sessions, $pids) = holding_sessions($node, 9 * $MB, 8 * $MB, 20_000);
crash($node, $pids->[1], @$sessions);
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids),
	'all profiles are saved after a crash');
is_deeply(
	[ map { reasons($node, $_) } @$pids ],
	[ 'crash', 'crash', '' ],
	'profiles of a crash become dumps, if they are worth it');
my $those = join ', ', @$pids;
is( ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed' AND pid IN ($those)"),
	3, 'saved profiles stay in the views');
is( ask(
		$node,
		"SELECT live_bytes FROM pg_leakhunt_report WHERE pid = $pids->[0] AND function_of(site) = 'leaking_top'"
	),
	int(9 * $MB / 1000) * 1000,
	'the report of a saved profile has what the process held');
like(ask($node, "SELECT pg_leakhunt_dump($pids->[0])"),
	qr/^$pids->[0]\.2\.manual\.profile$/, 'a saved profile can be dumped by its PID');
like(
	slurp_file($node->logfile),
	qr/\[\d+\] LOG:  profile of process $pids->[0], which did not exit cleanly, saved as/,
	'the log tells that a profile is saved');
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
unlike(slurp_file($node->logfile), qr/\[$postmaster\] LOG:  profile of process/,
	'the postmaster does not save profiles itself');

# A dump of a full profile is that, and the names of its functions: here 60 sites have
# a statement of 800 bytes.
my $filler = $node->background_psql('postgres');
my $filler_pid = session_pid($filler);
$filler->query_safe("SET pg_leakhunt.sample_interval = 1; SET pg_leakhunt.scope = 'all'");
$filler->query_safe(
	"\\o /dev/null\nSELECT format('SELECT leak_at_depth(g, 10, 1) AS number_%s FROM generate_series(1, 60) g /* %s */', i, repeat('x', 700)) FROM generate_series(1, 700) i \\gexec\n\\o");
my $full = process_row($node, $filler_pid);
is($full->{profile_bytes}, 8 * $MB, 'a full profile is as large as may be');
cmp_ok($full->{samples_dropped}, '>', 1000, 'a full profile loses samples');
crash($node, $filler_pid, $filler);
wait_for_files($directory, [$filler_pid], "$filler_pid.S.saved", 'a full profile is saved after a crash');
my ($full_dump) = dump_files($node, $filler_pid);
my $full_bytes = -s $full_dump;
my $foot = foot_of(slurp_file($full_dump));
is("$foot->{reason} $foot->{file_bytes}", "crash $full_bytes", 'the dump of a full profile states its size');
cmp_ok($foot->{profile_bytes}, '<=', 8 * $MB, 'the dump of a full profile has no more bytes of a profile than that');
cmp_ok($full_bytes - $foot->{profile_bytes}, '<=', $MB, 'the dump of a full profile has at most 1 MB of names');
is( ask($node,
		"SELECT sum(live_bytes), sum(live_count) FROM pg_leakhunt_report('@{[$full_dump =~ s{.*/}{}r]}')"),
	"$full->{live_bytes}|$full->{live_count}",
	'the dump of a full profile has all that the process held');
note("the dump of a full profile with $full->{sites} sites: $full_bytes bytes");

# A stop ends the keeper, a start removes what is saved.
$node->restart;
is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'the next start removes what is saved');

# What a stop without a keeper's work leaves is done by the next one, once, and files that
# are no profiles go.
($sessions, $pids) = holding_sessions($node, 8_000_000, 8_000_000, 8_000_000);
$node->stop('immediate');
$_->{run}->kill_kill for @$sessions;
append_to_file("$directory/99999999.1", 'damaged');
append_to_file("$directory/tmp.99999998", 'unfinished');
# another cluster was given the same directory: its processes may have pids elsewhere
$model = "$directory/$pids->[1]";
$model_pid = $pids->[1];
my @of_others = qw(88888887 88888888.1 tmp.88888889 baseline.88888887);
copy_profile_of_other("$directory/$_") for @of_others;
rename("$directory/$pids->[0]", "$directory/$pids->[0].1") or die $!;
my $offset = -s $node->logfile;
$node->start;
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids),
	'the next keeper saves what a stop has left');
is_deeply(
	[ map { reasons($node, $_) } @$pids ],
	[ 'crash', 'crash', 'crash' ],
	'each profile that a stop has left is dumped once');
like(
	slurp_file($node->logfile, $offset),
	qr/WARNING:  removed file "99999999.1" from the profile directory/,
	'a damaged file does not stay in the directory of profiles');
is(join(' ', grep { /^(tmp\.9|9999999)/ } profile_files($directory)),
	'', 'an unfinished file does not stay in the directory of profiles');
is_deeply([ grep { /8888888/ } profile_files($directory) ], [ sort @of_others ], 'files of another cluster stay in the directory of profiles');
is(($node->psql('postgres', 'SELECT pid FROM pg_leakhunt_processes'))[2],
	'', 'nothing is said of files of another cluster');
unlink map { "$directory/$_" } @of_others;
$keeper = ask($node,
	"SELECT pid FROM $keepers");
crash($node, $keeper);
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM $keepers"
	),
	'a killed keeper comes back');
is_deeply(
	[ map { reasons($node, $_) } @$pids ],
	[ 'crash', 'crash', 'crash' ],
	'a killed keeper that comes back saves nothing twice');

# A directory that can't be written to: one WARNING, and a new try at the next
# start.
my $dumps = $node->data_dir . '/pg_leakhunt';
rename($dumps, "$dumps.aside") or die $!;
append_to_file($dumps, 'not a directory');
($sessions, $pids) = holding_sessions($node, 8_000_000, 8_000_000);
$offset = crash($node, $pids->[0], @$sessions);
wait_until(
	sub { slurp_file($node->logfile, $offset) =~ /WARNING:  could not (write dump file|create directory)/ },
	'the log tells that a dump could not be written');
ask($node, 'SELECT count(*) FROM pg_leakhunt_processes');
wait_for_looks($node);
is( () = slurp_file($node->logfile, $offset) =~
	  /WARNING:  could not (write dump file|create directory)/g,
	1,
	'there is one WARNING for all dumps that could not be written');
is(scalar(grep { my $pid = $_; grep { /^$pid(\.\d+)?$/ } profile_files($directory) } @$pids),
	2, 'profiles that could not be dumped stay');
$node->stop;
unlink $dumps;
rename("$dumps.aside", $dumps) or die $!;
$node->start;
wait_for_files($directory, $pids,
	join(' ', sort map { "$_.S.saved" } @$pids), 'profiles that could not be dumped are saved by the next keeper');
is(() = slurp_file($node->logfile, $offset) =~ /LOG:  process $pids->[0] \(client backend\) crashed/g,
	1, 'the log has the crash once, though its dump was tried twice');

# A keeper that somebody ends comes back; one that ends with the server says nothing.
$keeper = ask($node,
	"SELECT pid FROM $keepers");
kill 'TERM', $keeper;
wait_until(sub { !-e "/proc/$keeper" }, 'a keeper that is told to ends');
my $killed = $node->background_psql('postgres');
crash($node, session_pid($killed), $killed);
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM $keepers"
	),
	'a keeper that was told to end is started again');
is(join("\n", grep { /LOG:.*keeper.*exited with exit code/ && !/PID $keeper\)/ } split /\n/, slurp_file($node->logfile)),
	'', 'a keeper that ends with the server does so without a message');

# What many processes leave is bounded, before the server goes on; the largest
# stay.  Dumps of crashes before these go, as one of a background process, which has a
# sample or two at the default interval, is of another owner, and owners share the room.
my ($saved) = grep { /^$pids->[0]\./ } profile_files($directory);
$model = $node->basedir . '/model';
$model_pid = $pids->[0];
$model_bytes =
  ask($node, "SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $model_pid");
is(system('cp', "$directory/$saved", $model), 0, 'a profile is copied');
$node->append_conf('postgresql.conf', "pg_leakhunt.dump_keep = 5\n");
$node->stop;
unlink glob("$dumps/*.crash.*");
copy_profile("$directory/" . (90_000_000 + $_), 90_000_000 + $_,
	(8 + $_) * $MB)
  for 1 .. 20;
my $file_bytes = -s "$directory/90000001";
my $removed_size = sprintf('%.0f kB', 15 * $file_bytes / 1024);
$offset = -s $node->logfile;
$node->start;
like(
	slurp_file($node->logfile, $offset),
	qr/LOG:  removed 15 profiles \(\Q$removed_size\E\) of processes that did not exit cleanly/,
	'a start tells how many profiles it removes');
wait_until(
	sub { 5 == grep { /^900000\d\d\b.*saved$/ } profile_files($directory) },
	'dump_keep profiles are saved');
is( join(' ', map { s/.*\/(\d+)\..*/$1/r } glob("$dumps/900000??.*.crash.profile")),
	join(' ', 90_000_016 .. 90_000_020),
	'the largest profiles become dumps');

# Each reason has its own number: exits push out neither what a crash has left nor what
# somebody asked for.
wait_until(sub { 5 == (() = glob("$dumps/*.crash.profile")) }, 'dump_keep dumps of crashes stay');
my @kept = glob("$dumps/*.crash.profile $dumps/*.manual.profile");
for (1 .. 8)
{
	my $leaver = $node->background_psql('postgres');
	my $leaver_pid = session_pid($leaver);

	$leaver->query_safe('SET pg_leakhunt.sample_interval = 1');
	$leaver->query_safe('SELECT leak_top(1000, 8000)');
	$leaver->quit;
	is(problem_at_exit($node, $leaver_pid), undef, 'a session leaves a dump');
}
is(scalar(() = glob("$dumps/*.exit.profile")), 5, 'dump_keep dumps of exits stay');
is_deeply([ glob("$dumps/*.crash.profile $dumps/*.manual.profile") ],
	\@kept, 'exits push out no dump of a crash or on request');

# No more than 16 stay when the server goes on after a crash.
set_and_reload($node, 'pg_leakhunt.dump_keep' => 100);
copy_profile("$directory/" . (90_000_100 + $_), 90_000_100 + $_, 8 * $MB)
  for 1 .. 20;
$keeper = ask($node,
	"SELECT pid FROM $keepers");
crash($node, $keeper);
wait_until(
	sub {
		my @files = grep { /^9\d{7}/ } profile_files($directory);
		return 16 == @files && 16 == grep { /saved$/ } @files;
	},
	'16 profiles stay') or diag(join '16 profiles of a crash stay', profile_files($directory));
is(scalar(() = glob("$dumps/900001*.crash.profile")), 20, 'all profiles of a crash become dumps');
$node->stop;

# Without a place for the keeper, sessions do its work.
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
copy_profile("$directory/" . (90_000_200 + $_), 90_000_200 + $_, 8 * $MB)
  for 1 .. 3;
$node->start;
is( ask(
		$node,
		"SELECT count(*) FROM $keepers"
	),
	0,
	'there is no keeper without a place for it');
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash' AND pid BETWEEN 90000201 AND 90000203"
	),
	3,
	'a session that looks at dumps makes them where there is no keeper');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed' AND pid BETWEEN 90000201 AND 90000203"),
	3, 'profiles that a session has dumped stay');
is(scalar(() = glob("$dumps/9000020[123].1.crash.heap")), 3, 'a session that makes dumps writes their texts');

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
	'a profile for which there is no memory is left with a WARNING');
$short->{stderr} = '';
system('prlimit', '--pid', $short_pid, '--as=unlimited:') == 0 or die;
is(join(' ', map { m{/(\d+)\.[^/]*$} } glob("$dumps/900003*.profile")),
	'90000302', 'another profile becomes a dump beside one for which there is no memory');
$short->query_until(qr//, "SELECT pg_sleep(600);\n");
wait_until(sub { ask($node, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $short_pid") eq 't' },
	'a session that ran out of memory sleeps');
ask($node, "SELECT pg_cancel_backend($short_pid)");
like($short->query("SELECT 'awake'"), qr/awake/, 'a session that ran out of memory can be cancelled');
$short->quit;
unlink glob("$directory/900003*"), glob("$dumps/900003*");
rename($dumps, "$dumps.aside") or die $!;
append_to_file($dumps, 'not a directory');
copy_profile("$directory/90000301", 90_000_301, 8 * $MB);
my $patient = $node->background_psql('postgres', on_error_stop => 0);
$patient->query('SELECT count(*) FROM pg_leakhunt_processes') for 1 .. 3;
is(() = $patient->{stderr} =~ /WARNING:  could not create directory|WARNING:  could not write/g,
	1, 'a session does not try again and again what fails');
$patient->quit;
ok(-e "$directory/90000301", 'a profile that a session could not dump waits');
unlink $dumps;
rename("$dumps.aside", $dumps) or die $!;
$node->stop;
unlink glob("$directory/900000*");
my $main_directory = $directory;

# With session_preload_libraries, the postmaster knows nothing of profiles.
my $late = PostgreSQL::Test::Cluster->new('late');
$late->init;
$late->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_leakhunt'\nrestart_after_crash = on\npg_leakhunt.dump_min_bytes = 4MB\n");
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
	12, 'crashed processes that loaded the module by session are listed');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash'"),
	12, 'crashed processes that loaded the module by session became dumps');
($sessions, $pids) = holding_sessions($late, (8_000_000) x 8);
crash($late, $pids->[0], @$sessions);
ask($late, 'SELECT count(*) FROM pg_leakhunt_processes');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	16, 'no more than 16 profiles of sessions that loaded the module stay');
is(ask($late, "SELECT count(*) FROM pg_leakhunt_dumps WHERE reason = 'crash'"),
	20, 'all profiles of sessions that loaded the module became dumps');
$late->restart;
is(ask($late, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'a restart of the server removes profiles of sessions that loaded the module');

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
wait_until(sub { -e "$dumps/90000401.1.crash.profile" }, 'the other server writes dumps to a shared directory, too');
is( join(' ', map { s{.*/}{}r } glob("$dumps/*.tmp")),
	'4711.1.tmp mine.tmp',
	'a server removes no file of a shared directory that is being written');
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
append_to_file("$dumps/$pid.1.exit.profile", "the other server's");
$session->query_safe('SELECT leak_top(64, 1000000)');
$session->quit;
wait_until(sub { -e "$dumps/$pid.2.exit.profile" },
	'a server takes another name where the other server has taken one');
is(slurp_file("$dumps/$pid.1.exit.profile"), "the other server's", 'the dump of the other server is as it was');

$late->stop;
$node->stop;
unlike(slurp_file($_->logfile), qr/PANIC|signal (6|11)/, 'no process has crashed by itself')
  for $node, $late;
done_testing();
