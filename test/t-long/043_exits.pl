# What an exit asks of the disk and of the folder of dumps: all sessions may end at a
# time, and a stop of the server waits for them.  Needs a library preloaded into the
# server, which counts the calls of pg_leakhunt alone, and sessions that end.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 32;
my $foreign_files = 1000;

# With fsync off, as tests have it, nothing would be synced anyway.
my $faults = Faults->new('faults');
my $node;
{
	local %ENV = (%ENV, $faults->environment);
	$node = new_server('main', <<'CONF');
fsync = on
autovacuum = off
max_connections = 60
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 8MB
pg_leakhunt.dump_keep = 100
CONF
}
my $directory = profile_directory($node);
my $dumps = $node->data_dir . '/pg_leakhunt';

# One call site that holds a quarter of dump_min_bytes is worth a dump.
my $no_dump = 'SELECT leak_top(1000, 1000)';
my $dump = 'SELECT leak_top(1000, 3000)';

sub exit_dumps
{
	my @files = glob("$dumps/*.exit.profile");

	return scalar @files;
}

# The texts beside dumps, and those without a dump, as a removal takes the dump first.
sub texts
{
	return glob("$dumps/*.heap");
}

sub texts_without_dump
{
	return grep { !-e s/\.heap$/.profile/r } texts();
}

# How often a session calls a function when it exits.  What it allocates then would be
# samples of new call sites, for which its profile may grow.
sub calls_at_exit
{
	my ($sql, $function) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe($sql);
	$session->query_safe("SET pg_leakhunt.sample_interval = '1GB'");
	die "process $pid shows no profile" if !-e "$directory/$pid";
	$faults->count($function, $pid);
	$session->quit;
	die if problem_at_exit($node, $pid);
	$faults->clear;
	return $faults->calls;
}

# A session that leaves a dump does not sync it; somebody who asks for one waits for that.
is(calls_at_exit($dump, 'fsync'), 0, 'an exit with a dump calls no fsync');
is(exit_dumps(), 1, 'an exit with a dump leaves it');
my $asking = $node->background_psql('postgres');
$faults->count('fsync');
like($asking->query_safe('SELECT pg_leakhunt_dump(pg_backend_pid())'),
	qr/manual/, 'a dump is written on request');
$faults->clear;
is($faults->calls, 2, 'a dump on request is synced, and so is the folder');
$asking->quit;

# The folder is as full as it gets, and others have put files there.
append_to_file("$dumps/$_.1.exit.profile", 'an old dump') for 1_000_001 .. 1_000_100;
append_to_file("$dumps/somebody's file $_", '') for 1 .. $foreign_files;
utime(time - 7200, time - 7200, glob("$dumps/1000*.exit.profile")) or die $!;

# One that leaves no dump has a megabyte and a profile, which it removes if it is
# its own.
my %there = map { $_ => 1 } glob("$dumps/*.exit.profile");
is(calls_at_exit($no_dump, $_), 0, "an exit without a dump does not call $_")
  for qw(fsync getdents64 mkdir posix_fallocate renameat2 write);
is(calls_at_exit($no_dump, 'unlink'), 2, 'an exit without a dump removes only its profile and its baseline');
is(calls_at_exit($no_dump, 'lstat'), 1, 'an exit without a dump looks at no file but its profile');
is(scalar(grep { !$there{$_} } glob("$dumps/*.exit.profile")), 0, 'an exit without a dump leaves none');

# Sessions that all end at a time; returns how often they called a function.
my $script = $node->basedir . '/dump.sql';
append_to_file($script, "$dump;\n");
sub calls_of_many
{
	my ($function) = @_;

	$faults->count($function);
	$node->command_ok(
		[
			'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 1, '-f', $script,
			'-h', $node->host, '-p', $node->port, 'postgres'
		],
		"$sessions sessions end");
	wait_until(sub { sessions_left($node) == 0 }, 'many sessions are over');
	$faults->clear;
	return $faults->calls;
}
is(calls_of_many('renameat2'), $sessions, 'each of many sessions leaves a dump');
is(calls_of_many('fsync'), 0, 'many exits with dumps call no fsync');

# One in eight looks for old dumps, by chance.
my $rounds = 3;
my $reads = 0;
$reads += calls_of_many('getdents64') for 1 .. $rounds;
cmp_ok(exit_dumps(), '<', 101 + (2 + $rounds) * $sessions, 'many exits remove old dumps');

# Where few dumps are kept, each does, as one more would be many: it reads the folder
# once, and looks at each dump and each text twice, for itself and for the other.  The
# keeper, which removes what is now too much, must have done so.
set_and_reload($node, 'pg_leakhunt.dump_keep' => 10, 'pg_leakhunt.keeper_interval' => '200ms');
wait_until(sub { exit_dumps() == 10 && !texts_without_dump() }, 'the keeper removes what settings no longer allow');
set_and_reload($node, 'pg_leakhunt.keeper_interval' => '1h');
my $files = () = (glob("$dumps/*.profile"), texts());
is(calls_at_exit($dump, 'lstat') - 1, 2 * ($files + 2), 'an exit looks at all dumps and the new one, where few are kept');
is(exit_dumps(), 10, 'an exit removes one dump for the new one, where few are kept');
my $reads_of_one = calls_at_exit($dump, 'getdents64');
cmp_ok($reads_of_one, '<=', 2 + $foreign_files / 100, 'an exit reads the folder once, where few dumps are kept');
cmp_ok($reads_of_one, '>', 1, 'one call does not read the folder of many files');
cmp_ok($reads, '>', 0, 'some of many exits read the folder');
cmp_ok($reads, '<=', $rounds * $sessions / 2 * ($reads_of_one + 1), 'most of many exits do not read the folder')
  or diag("$reads reads, $reads_of_one for once");
note("$reads reads by " . $rounds * $sessions . " sessions, $reads_of_one for once");

$node->stop;
done_testing();
