# A disk that is full at each moment of a dump: each call that writes fails in turn, the
# first, the second, and so on until none fails any more.  Then a real one, with so much
# room that a dump ends at each of its parts.  Needs a library that is preloaded into the
# server, and a small file system.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my @writing = qw(open mkdir write pwrite ftruncate fallocate posix_fallocate rename renameat2 link fsync close);
my $faults = Faults->new('faults');
my $node;
{
	local %ENV = (%ENV, $faults->environment);
	$node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 100kB
pg_leakhunt.dump_keep = 1000
restart_after_crash = on
CONF
}
my $dumps = $node->data_dir . '/pg_leakhunt';
my $asking = $node->background_psql('postgres', on_error_stop => 0);

# The dumps that are shown and are not whole, and what is there and is no dump.
sub broken
{
	my ($directory) = @_;
	my @whole = map { s{.*/}{}r } glob("$directory/*.profile");
	my @other = grep { !/\.(?:profile|heap)$/ } glob("$directory/*");
	my $names = join ', ', map { "'$_'" } @whole;
	my $refused = @whole ? $asking->query("SELECT count(*) FROM pg_leakhunt_dumps WHERE file IN ($names) AND live_bytes IS NOT NULL") : 0;
	my $problem = $asking->{stderr};

	$asking->{stderr} = '';
	push @other, "$refused of " . scalar(@whole) . ' dumps are whole' if $refused != @whole;
	push @other, $problem if $problem ne '';
	return join ', ', @other;
}

# A session that leaks, makes a dump itself, and leaves one when it exits; with what it and
# the log say.
my $log_at = 0;
sub run_session
{
	my ($stdout, $stderr, $answer) = ('', '');

	$node->psql('postgres', "SELECT pg_backend_pid(); SELECT leak_top(64, 2000); SELECT pg_leakhunt_dump(pg_backend_pid()); SELECT 'goes on'",
		stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	my ($pid) = $stdout =~ /^(\d+)/;
	my $problem = problem_at_exit($node, $pid) // '';
	my $log = slurp_file($node->logfile, $log_at);
	$log_at += length $log;
	return { pid => $pid, works => $stdout =~ /^goes on$/m && !$problem, said => "$stderr$log", crashed => $log =~ /PANIC|TRAP|terminated by signal/ };
}

# One call of each number fails, those before it not: of every N calls one fails, and the
# session makes fewer than twice as many dumps.
for my $function (@writing)
{
	my ($moments, $said, @problems) = (0, 0);

	for my $number (1 .. 12)
	{
		$faults->set($function, 'ENOSPC', $number);
		my $found = run_session();
		my $failed = $faults->failed;
		$faults->clear;
		last if !$failed;
		$moments++;
		$said++ if $found->{said} =~ /could not .*No space left on device/;
		my $broken = broken($dumps);
		push @problems, "call $number: the session does not go on: $found->{said}" if !$found->{works};
		push @problems, "call $number: a process has crashed" if $found->{crashed};
		push @problems, "call $number: $broken" if $broken ne '';
		unlink glob("$dumps/*");
	}
	is(join("\n", @problems), '', "$function fails at each of $moments moments: no session ends, and no dump is broken or left");
	note("$function: $moments moments, $said of them with a message");
}
is_deeply([ glob("$dumps/*.tmp") ], [], 'no dump is left incomplete');
cmp_ok(slurp_file($node->logfile) =~ /WARNING:  could not write dump file "[^"]+": No space left on device/, '==', 1, 'the log says that there is no space');

# A real disk, that has room for so much of a dump.
SKIP:
{
	skip 'no small file system is mounted', 2 if !$ENV{SMALL_DISK};
	rmdir $dumps;
	symlink($ENV{SMALL_DISK}, $dumps) or die $!;
	my ($full, @problems) = (0);
	for my $step (0 .. 25)
	{
		my $left = 8192 * $step;

		open my $file, '>', "$ENV{SMALL_DISK}/filler" or die $!;
		1 while (syswrite($file, 'x' x 4096) // 0) == 4096;
		truncate $file, (-s "$ENV{SMALL_DISK}/filler") - $left or die $!;
		close $file;
		my $found = run_session();
		$full++ if $found->{said} =~ /No space left on device/;
		unlink "$ENV{SMALL_DISK}/filler";
		my $broken = broken($ENV{SMALL_DISK});
		push @problems, "$left bytes left: the session does not go on: $found->{said}" if !$found->{works};
		push @problems, "$left bytes left: a process has crashed" if $found->{crashed};
		push @problems, "$left bytes left: $broken" if $broken ne '';
		unlink glob("$ENV{SMALL_DISK}/*");
	}
	cmp_ok($full, '>', 3, 'the disk is full at several moments');
	note("$full times full");
	is(join("\n", @problems), '', 'a disk that is really full: no session ends, and no dump is broken or left');
	unlink $dumps;
}

# The keeper's dump of a session that was killed, at each moment; its profile stays until
# the dump is there.
for my $function (qw(open write rename renameat2))
{
	my @problems;

	for my $number (1 .. 3)
	{
		my $session = $node->background_psql('postgres');
		my $pid = session_pid($session);

		$session->query_safe('SELECT leak_top(64, 2000)');
		$faults->set($function, 'ENOSPC', $number);
		kill 'KILL', $pid;
		eval { $session->{run}->finish };
		wait_until(sub { slurp_file($node->logfile) =~ /PID $pid\) was terminated.*ready to accept/s }, "the server restarts ($function, call $number)");
		wait_for_server($node);
		sleep 1;
		my $failed = $faults->failed;
		$faults->clear;
		eval { $asking->quit };
		$asking = $node->background_psql('postgres', on_error_stop => 0);
		my $broken = broken($dumps);
		push @problems, "call $number: $broken" if $broken ne '';
		my $seen = $asking->query("SELECT (SELECT count(*) FROM pg_leakhunt_processes WHERE pid = $pid AND state = 'crashed') + (SELECT count(*) FROM pg_leakhunt_dumps WHERE file ~ '^${pid}[.]')");
		push @problems, "call $number: what the process held is lost ($failed failed)" if $seen < 1;
		unlink glob("$dumps/*");
	}
	is(join("\n", @problems), '', "$function fails while the keeper makes a dump: nothing is lost, broken or left");
}
eval { $asking->quit };
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal (?!9)/, 'nobody crashed but who was killed');
done_testing();
