# Processes that are killed, servers that crash, files that are damaged.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "restart_after_crash = on\npg_leakhunt.dump_min_bytes = 1MB\n");
my $directory = profile_directory($node);

# kill -9 in the middle of life: what it held is still there.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT leak_top(64, 100000)');
kill 'KILL', $pid;
$session->{run}->kill_kill;
wait_for_server($node, $pid);

# It has its last name, so that no look is in the middle of a rename.
my @saved;
wait_until(
	sub { @saved = grep { /^$pid\.\d+\.saved$/ } profile_files($directory) },
	'the profile of the killed process is saved');
is( $node->safe_psql(
		'postgres',
		"SELECT state, sampling, backend_type FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid"
	),
	'crashed|f|client backend',
	'the killed process is listed as crashed');
is(report_row($node, $pid, 'leaking_top')->{live_bytes},
	6_400_000, 'the profile of a killed process has all that it held');

# A new process with the same pid keeps the old one's profile apart. Such a pid
# can't be had at will, but a file of that name can.
{
	# it must not be so large already that it has a profile
	local $ENV{PGOPTIONS} = '-c pg_leakhunt.sample_interval=1GB';
	$session = $node->background_psql('postgres');
}
my $other = session_pid($session);
rename("$directory/$saved[0]", "$directory/$other") or die $!;
# under a memory checker it is, and has to notice that its file is another one
$session->query_safe('SELECT count(*) FROM pg_leakhunt_processes');
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT leak_top(10, 1000)');
my @files = profile_files($directory);
ok((grep { /^$other\.\d+$/ } @files), 'the file of a dead process is kept beside the new one of the same PID')
  or diag("@files");
is(report_row($node, $pid, 'leaking_top')->{live_bytes},
	6_400_000, 'a dead process whose PID was taken is listed under its own');
is(report_row($node, $other, 'leaking_top')->{live_bytes},
	10_000, 'a process that took the PID of a dead one is listed with what it holds');
$session->quit;

# Make a file in the directory of the profiles.
sub write_profile
{
	my ($name, $bytes) = @_;

	open(my $file, '>', "$directory/$name") or die $!;
	print $file $bytes;
	close $file;
	chmod 0600, "$directory/$name";
	return;
}

# Damaged files: a WARNING or fewer rows, never a crash or a hang.
my ($crashed) = grep { /^$other\.\d+$/ } profile_files($directory);
my $intact = slurp_file("$directory/$crashed");
my $view = q{SELECT count(*) FROM pg_leakhunt_report;
	SELECT count(*) FROM pg_leakhunt_processes;
	SELECT count(*) FROM pg_leakhunt_contexts;};
srand(4711);
my $failures = 0;
for my $round (1 .. rounds(150))
{
	my $damaged = $intact;

	# in the header, in the records' own headers, anywhere; or cut off
	for (1 .. 1 + int(rand(20)))
	{
		my $at = int(rand($round % 3 == 0 ? 600 : 20_000));
		substr($damaged, $at, 1) = chr(int(rand(256)))
		  if $at < length $damaged;
	}
	substr($damaged, 0, 8) = substr($intact, 0, 8) if $round % 2;
	$damaged = substr($damaged, 0, int(rand(length $damaged)))
	  if $round % 10 == 0;
	unlink "$directory/$crashed";
	write_profile($crashed, $damaged);
	$failures++ if $node->psql('postgres', $view) != 0;
}
is($failures, 0, 'damaged profiles are read without an error');
like(slurp_file($node->logfile),
	qr/WARNING:  ignoring file/, 'a file that is no profile is ignored with a WARNING');

# A profile that does not say when its process started: no process is that one, even if
# one has its pid.
my $postmaster = $node->safe_psql('postgres',
	"SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'postmaster'");
my $startless = $intact;
substr($startless, 16, 4) = pack('l', $postmaster);
substr($startless, 24, 8) = pack('Q', ~0);
unlink "$directory/$crashed";
write_profile("$postmaster.1", $startless);
like(
	$node->safe_psql(
		'postgres',
		"SELECT string_agg(state, ' ' ORDER BY state) FROM pg_leakhunt_processes WHERE pid = $postmaster"
	),
	qr/^crashed (?:live|small)$/,
	'a profile without a start is of no process that lives');
unlink "$directory/$postmaster.1";

# A session that has loaded another version, as the library was replaced since.
{
	local $ENV{PGOPTIONS} = '-c pg_leakhunt.sample_interval=1GB';
	$session = $node->background_psql('postgres');
}
my $former = session_pid($session);
my $of_another_layout = $intact;
substr($of_another_layout, 8, 4) = pack('L', 2);
unlink "$directory/$former";
write_profile($former, $of_another_layout);
my ($result, $stdout, $stderr) = $node->psql('postgres', "SELECT pg_leakhunt_stop($former)");
like($stderr, qr/WARNING:  process $former may not notice the request\n.*another version of pg_leakhunt/,
	'a request to a session of another version is made with a WARNING');
unlink "$directory/$former";
$session->quit;

# The kind of file that should not be there at all.
symlink('/etc/passwd', "$directory/1") or die $!;
mkdir "$directory/2" or die $!;
append_to_file("$directory/3", '');
is($node->psql('postgres', $view), 0, 'strange files in the directory of profiles do no harm');
unlink "$directory/1", "$directory/3";
rmdir "$directory/2";
write_profile("$other.1", $intact);

# After a crash all become dumps, if worth it, and those that hold most stay.
my @sessions = map { $node->background_psql('postgres') } 1 .. 24;
my @pids = map { session_pid($_) } @sessions;
$sessions[$_]->query_safe('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(1000, '
	  . ($_ < 20 ? 5000 : 10) . ')')
  for 0 .. $#sessions;
kill 'KILL', $pids[0];
wait_until(
	sub {
		!grep { -e "/proc/$_" } @pids;
	},
	'all sessions have crashed');
$_->{run}->kill_kill for @sessions;
wait_for_server($node, $pids[0]);
wait_until(
	sub { 16 == grep { /saved$/ } profile_files($directory) },
	'16 profiles of crashed processes are saved');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	16,
	'no more than 16 profiles of crashed processes stay');
is_deeply(
	[ sort map { scalar dump_files($node, $_) } @pids ],
	[ (0) x 4, (1) x 20 ],
	'crashed processes are dumped if worth it');
my @dumps = dump_files($node, $pid);
is(scalar @dumps, 2, 'a profile that was put there again is dumped again');
like($dumps[0], qr/\.crash\.profile$/, 'the dump of a crashed process has crash in its name');
like(slurp_file(dump_text($dumps[0])), qr/^100000: 6400000 \[100000: 6400000\] @ /m,
	'the text of a crash dump has all that the process held');
is( $node->safe_psql('postgres',
		"SELECT live_bytes, live_count FROM pg_leakhunt_report('@{[$dumps[$_] =~ s{.*/}{}r]}') WHERE function_of(site) = 'leaking_top'"
	),
	'6400000|100000',
	"crash dump $_ has all that the process held")
  for 0, 1;
like(
	slurp_file($node->logfile),
	qr/LOG:  profile of process $pid, which did not exit cleanly, saved as/,
	'the log tells that the profile of a killed process is saved');
append_to_file("$directory/tmp.99999999", 'unfinished');
$node->stop('immediate');
$node->start;
ok(!-e "$directory/tmp.99999999", 'unfinished files go with the next start');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed' AND pid IN ($pid, "
		  . join(', ', @pids) . ')'),
	0,
	'profiles of crashed processes go with the next start');

# A killed postmaster leaves its own profile; its children exit by themselves.
my @children = split /\n/,
  $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity');
kill_server($node, @children);
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server starts again after its postmaster was killed');

$node->stop;
done_testing();
