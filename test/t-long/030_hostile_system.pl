# Disks that are full, directories that change or go, limits that are reached and
# clocks that jump, under a server that runs, and one that starts while the last one has
# not quite ended.  Needs a small file system, limits on processes, and a preloaded
# library for the clock and for a process that stands still.
use strict;
use warnings;

use Fcntl ':mode';
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 0
autovacuum = off
CONF
my ($node, $directory, $asking);

# A server whose profiles lie in that directory.
sub start_server
{
	my ($name, $profiles) = @_;

	$directory = $profiles;
	$node = new_server($name, "${conf}pg_leakhunt.profile_directory = '$profiles'\n");
	$asking = $node->background_psql('postgres');
	$asking->set_query_timer_restart;
	$asking->query_safe('SET pg_leakhunt.sample_interval = 1000000000');
}

sub stop_server
{
	$asking->quit;
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/,
		'no process has crashed');
}

# A session, and its pid.
sub new_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->set_query_timer_restart;
	return ($session, session_pid($session));
}

# The session does what a user wants of it.
sub works
{
	my ($session, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $answer = $session->query(
		'SELECT count(i), sum(i) FROM generate_series(1, 1000) i; SELECT leak_top(64, 1000); SELECT allocate_in_balance(64, 1000)');
	is("$answer$session->{stderr}", "1000|500500\n\n", "$name: statements have their usual results");
	$session->{stderr} = '';
}

# New sites of the session are seen, by and by: the next try to publish or to grow
# comes after 5 seconds.
sub is_seen
{
	my ($session, $pid, $name) = @_;
	my $seen = 0;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$session->query("SELECT leak_named_context('$name', 10)");
		$seen = $asking->query(
			"SELECT count(*) FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = '$name'");
		last if $seen;
		select(undef, undef, undef, 0.1);
	}
	is($seen, 1, "$name: the profile goes on");
	is($asking->query("SELECT count(*) FROM pg_leakhunt_processes WHERE pid = $pid"),
		1, "$name: the process has one profile");
}

# How many chunks the session has leaked by leak_named_context in contexts that are
# named like that, or at sites that can't be seen, and how many samples it has lost.
sub figures
{
	my ($pid, $pattern) = @_;

	return split /\|/,
	  $asking->query(
		"SELECT (SELECT coalesce(sum(live_count), 0) FROM pg_leakhunt_report($pid, false) WHERE context_name LIKE '$pattern' OR context_name IS NULL), samples_dropped FROM pg_leakhunt_sampling WHERE pid = $pid");
}

# Fill the file system of a directory, but for some bytes.
sub fill_disk
{
	my ($path, $left) = @_;

	open my $file, '>', "$path/filler" or die $!;
	while ((syswrite($file, 'x' x 4096) // 0) == 4096) { }
	truncate $file, (-s "$path/filler") - $left or die $!;
	close $file;
}

SKIP:
{
	skip 'no small file system is mounted', 1 if !$ENV{SMALL_DISK};
	start_server('disk', "$ENV{SMALL_DISK}/hostile");

	# too small for profiles in any case, and then full
	for my $left (0, 16384, 65536)
	{
		my ($early, $early_pid) = new_session();
		works($early, 'a small disk');
		fill_disk($ENV{SMALL_DISK}, $left);
		my ($session, $pid) = new_session();
		works($session, "a disk with $left bytes left");
		works($early, "a disk with $left bytes left, a session that was there");
		unlink "$ENV{SMALL_DISK}/filler";
		works($session, "a disk with room after $left bytes");
		$_->quit for $session, $early;
	}
	stop_server();
}

start_server('main', "$ENV{TESTDATADIR}/profiles");
my $dumps = $node->data_dir . '/pg_leakhunt';

# Directories that may be read only.
{
	my ($early, $early_pid) = new_session();
	works($early, 'before');
	chmod 0500, $directory or die $!;
	my ($session, $pid) = new_session();
	works($session, 'profiles can not be made');
	works($early, 'profiles can not be made, one there is');
	chmod 0700, $directory or die $!;
	is_seen($session, $pid, 'profiles can be made');

	mkdir $dumps;
	chmod 0500, $dumps or die $!;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT pg_leakhunt_dump($pid)");
	like($err, qr/could not write dump file "pg_leakhunt.\d+\.\d+\.tmp": Permission denied/,
		'a dump in a directory that is read only is an ERROR');
	$session->quit;
	wait_until(sub { slurp_file($node->logfile) =~
			/\[$pid\] .*WARNING:  could not write dump file.*Permission denied/ },
		'a dump at exit in a directory that is read only is logged as a WARNING');
	chmod 0700, $dumps or die $!;
	is_gone("$directory/$pid", 'a profile is removed where its dump can not be written');
	$early->quit;
}

# Put something in the place of a directory, while "body" runs.
sub replace
{
	my ($path, $make, $body) = @_;

	rename $path, "$path.aside" or die $!;
	$make->($path);
	$body->();
	# a directory that was made anew is used by now, and stays
	return system('rm', '-rf', "$path.aside") if -d $path && !-l $path;
	unlink $path;
	rename "$path.aside", $path or die $!;
}

my %replacements = (
	'nothing' => sub { },
	'a file' => sub { append_to_file($_[0], 'file') },
	'a link to nowhere' => sub { symlink('/nonexistent', $_[0]) or die $! },
	'a link to a file' => sub { symlink('/etc/passwd', $_[0]) or die $! },);
for my $what (sort keys %replacements)
{
	my ($early, $early_pid) = new_session();
	my ($rc, $out, $err, $file);
	works($early, 'before');

	replace($directory, $replacements{$what}, sub {
		my ($session, $pid) = new_session();
		works($session, "no profiles but $what");
		works($early, "no profiles but $what, one there was");
		($rc, $out, $err) = $node->psql('postgres', q{
			SELECT count(*) FROM pg_leakhunt_processes;
			SELECT count(*) FROM pg_leakhunt_report;
			SELECT count(*) FROM pg_leakhunt_suspects});
		is($rc, 0, "no profiles but $what: the views can be read") or diag($err);
		$session->quit;
		is(problem_at_exit($node, $pid), undef, "no profiles but $what: a session exits");
	});
	is_seen($early, $early_pid, "profiles after $what");

	replace($dumps, $replacements{$what}, sub {
		$file = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($early_pid)")
		  if $what eq 'nothing';
		ok(-e "$dumps/$file", 'the directory of dumps is made anew')
		  if $what eq 'nothing';
		my ($session, $pid) = new_session();
		works($session, "no dumps but $what");
		$session->quit;

		# or else it would make the directory anew while it is put back
		is(problem_at_exit($node, $pid), undef, "no dumps but $what: a session exits");
	});
	$early->quit;
	is(problem_at_exit($node, $early_pid), undef, "$what: a session that was there before exits");
}
$node->poll_query_until('postgres',
	"SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'client backend'")
  or die;

# Limits on a process that runs, and what it can not do meanwhile.
sub limit
{
	my ($pid, $limit) = @_;

	return system('prlimit', '--pid', $pid, "--$limit:") == 0;
}

for my $limit ('nofile=0', 'fsize=0', 'fsize=4096', 'fsize=40000')
{
	my ($resource) = $limit =~ /(\w+)/;

	# before the profile is published
	my ($session, $pid) = new_session();
	my ($usual) = `prlimit --pid $pid --$resource --noheadings --raw --output SOFT` =~ /(\w+)/;
	$session->query_safe(
		'SET pg_leakhunt.sample_interval = 1000000000; SELECT leak_top(1, 1)');
	ok(limit($pid, $limit), "$limit is set");
	$session->query_safe('SET pg_leakhunt.sample_interval = 1');
	works($session, $limit);
	limit($pid, "$resource=$usual");
	is_seen($session, $pid, "no $limit any more");

	# while it grows
	limit($pid, $limit);
	my (undef, $lost_before) = figures($pid, '');
	$session->query_safe("SELECT leak_named_context('$limit $_', 10) AS context_$_") for 1 .. 300;
	my ($kept, $lost) = figures($pid, "$limit %");
	cmp_ok($kept + $lost - $lost_before, '>=', 300, "$limit: the loss is counted");
	works($session, "$limit, with a profile");
	limit($pid, "$resource=$usual");
	is_seen($session, $pid, "no $limit again");
	$session->quit;
}

# No address space: an ERROR for the user who wants more, and no more than that.
{
	my ($session, $pid) = new_session();
	my ($pages) = slurp_file("/proc/$pid/statm") =~ /^(\d+)/;
	works($session, 'address space');
	limit($pid, 'as=' . ($pages * 4096 + 16 * 1024 * 1024));
	my $error = '';
	for (1 .. 100)
	{
		$session->query('SELECT leak_top(1000, 1000)');
		$error = $session->{stderr};
		$session->{stderr} = '';
		last if $error ne '';
	}
	like($error, qr/^psql:<stdin>:\d+: ERROR:  out of memory/, 'no address space: an ERROR');
	limit($pid, 'as=unlimited');
	works($session, 'address space again');
	is_seen($session, $pid, 'address space again');
	$session->quit;
}
stop_server();

# The pid of the postmaster.
sub postmaster
{
	my ($node) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	return $pid;
}

# Does a process run?  One that has ended has no program, even if nobody has waited for it.
sub runs
{
	my ($pid) = @_;

	return defined readlink "/proc/$pid/exe";
}

# The inodes of files, by path; 0 if there is no file.
sub inodes
{
	return { map { $_ => (stat $_)[1] // 0 } @_ };
}

# The session takes up a request by another one to sample by that interval, which all can
# see, and what it leaks then is growth.
sub is_used
{
	my ($session, $interval, $name) = @_;
	my $pid = session_pid($session);
	my $growth = "SELECT coalesce(sum(growth_count), 0) FROM pg_leakhunt_report($pid, false)";
	my $before = ask($node, $growth);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(ask($node, "SELECT pg_leakhunt_start($pid, $interval)"), 't', "$name: a request is accepted");
	$session->query_safe('SELECT leak_top(10000, 1000)');
	is(process_row($node, $pid)->{sample_interval}, $interval, "$name: a request is fulfilled");
	cmp_ok(ask($node, $growth), '>=', $before + 900, "$name: growth since the baseline");
	return;
}

# The next server starts while the last one's postmaster still runs, as pg_ctl waits for
# no more than the end of postmaster.pid: it stands still before it removes what it has
# shared, and then where it writes its dump.
my $faults = Faults->new('faults');
{
	local %ENV = (%ENV, $faults->environment);
	$node = new_server('shared', $conf);
}
$directory = profile_directory($node);
my $last = postmaster($node);
ok(-e "$directory/$last", 'a postmaster has a profile');
$node->safe_psql('postgres', 'SELECT pg_leakhunt_baseline_all()');
my ($control) = grep { /^control/ } profile_files($directory);
my $last_inodes = inodes("$directory/baseline.0", "$directory/$control");
$faults->hold('unlink', $last);
$node->stop;
wait_until(sub { $faults->calls == 1 }, 'a postmaster has yet to remove its files, with its pid file gone');
$node->start;
ok(-e "$directory/$last", "the last one's profile is there when the next server runs");
is(profile_directory($node), $directory, "the next server takes the last one's directory");
my ($session, $pid) = new_session();
cmp_ok(ask($node, 'SELECT pg_leakhunt_baseline_all()'), '>=', 1, "the next server takes a baseline in the last one's directory");
my @of_next = map { "$directory/$_" } 'README', 'baseline.0', $control, $pid, "baseline.$pid";
my $next_inodes = inodes(@of_next);
is_deeply([ grep { !$next_inodes->{$_} } @of_next ], [], "the next server's files are there");
is(scalar(grep { $next_inodes->{$_} == $last_inodes->{$_} } keys %$last_inodes),
	0, "the next server's baseline and requests are other files than the last one's");
ok(runs($last), "the last server's postmaster runs until it removes its files");

$faults->hold('write', $last);
wait_until(sub { $faults->calls == 1 }, "the last server's postmaster begins to write its dump");
ok(!-e "$directory/$last", "the last server's postmaster has removed its profile");
is_deeply(inodes(@of_next), $next_inodes, "the last server's postmaster has removed none of the next server's files");
is_used($session, 1000, "beside the last server's postmaster");
ok(runs($last), "the last server's postmaster runs until it writes its dump");
is_deeply([ dump_files($node, $last) ], [], "the last server's postmaster has left no dump yet");

$faults->clear;
wait_until(sub { !runs($last) }, "the last server's postmaster ends");
like(join(' ', dump_files($node, $last)), qr/^\S*\.exit\.profile$/, "the last server's postmaster has left its dump");
is_deeply(inodes(@of_next), $next_inodes, "the next server's files are as they were");
is_used($session, 2000, "after the end of the last server's postmaster");
is_deeply([ grep { /\b$last\b/ } profile_files($directory) ], [],
	"nothing of the last server's postmaster is left");
$session->quit;
$node->stop;
is_gone($directory, 'the next server removes the directory');

# The clock is set back and ahead, under sessions that leak and that are read.
$faults = Faults->new('clock');
{
	local %ENV = (%ENV, $faults->environment);
	start_server('clock', "$ENV{TESTDATADIR}/clock_profiles");
}
($session, $pid) = new_session();
works($session, 'before');
$asking->query_safe("SELECT pg_leakhunt_baseline($pid)");
my $chunks = 0;
for my $seconds (-3600, 0, 3600, -86400 * 365, 86400 * 365, 0)
{
	$faults->set_clock($seconds);
	my $before = time;
	my $told = int($asking->query_safe('SELECT extract(epoch FROM clock_timestamp())')) - $seconds;
	# of the same clock, but that time() is a tick late
	ok($before <= $told && $told <= time + 1, "the clock is $seconds seconds ahead");
	for (1 .. 20)
	{
		$session->query_safe("SELECT leak_named_context('clock', 100)");
		$chunks++;
	}
	is($asking->query_safe(
			"SELECT live_count, growth_bytes FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = 'clock'"),
		"$chunks|" . 100 * $chunks, "what is held and has grown is exact $seconds seconds ahead");
	works($session, "$seconds seconds ahead");
	is($asking->query_safe(
			"SELECT count(*) FROM pg_leakhunt_suspects WHERE bytes_per_hour < 0 OR score NOT BETWEEN 0 AND 1"),
		0, "no leak goes backwards $seconds seconds ahead");
	cmp_ok($asking->query_safe("SELECT count(*) FROM pg_leakhunt_history($pid)"),
		'>', 0, "there is a history $seconds seconds ahead");
	like($asking->query_safe("SELECT pg_leakhunt_dump($pid)"), qr/^$pid\.\d+\.manual\.profile$/,
		"a dump is written $seconds seconds ahead");
	my ($brief, $brief_pid) = new_session();
	works($brief, "a session that begins $seconds seconds ahead");
	is_seen($brief, $brief_pid, "session at $seconds");
	$brief->quit;
}
$session->quit;
stop_server();

done_testing();
