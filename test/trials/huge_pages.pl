# Huge pages: the server's shared memory on them, reserved ones and transparent ones, and
# profiles on a file system that gives each file huge pages, with much room and with
# little.  Needs somebody who reserves pages and mounts the file systems (test/trial).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = "pg_leakhunt.sample_interval = 1\npg_leakhunt.dump_min_bytes = 100kB\nrestart_after_crash = on\nmax_connections = 80\n";

# The mappings of a process on huge pages: kB, those whose path is like that.
sub huge_kb
{
	my ($pid, $path) = @_;
	my ($inside, $kb) = (0, 0);

	for my $line (split /\n/, slurp_file("/proc/$pid/smaps"))
	{
		$inside = $1 =~ $path if $line =~ /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)/;
		$kb += $1 if $inside && $line =~ /^(?:Shared_Hugetlb|Private_Hugetlb|ShmemPmdMapped|FilePmdMapped): +(\d+)/;
	}
	return $kb;
}

# Sessions that leak, grow their profiles, and see each other; one is killed, and the
# server goes on.
sub check_server
{
	my ($node, $name, $sessions) = @_;
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. $sessions;
	my @pids = map { session_pid($_) } @sessions;

	for my $session (@sessions)
	{
		$session->query_safe('SELECT leak_top(64, 1000), leak_generation(100, 300), allocate_in_balance(100, 1000)');
	}
	my $pids = join ', ', @pids;
	is(ask($node, qq{SELECT count(*), count(DISTINCT live_bytes), min(live_bytes) FROM pg_leakhunt_report
			WHERE pid IN ($pids) AND function_of(site) = 'leaking_top'}),
		"$sessions|1|64000", "$name: the leaks of $sessions sessions are exact");
	is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid IN ($pids) AND (state = 'crashed' OR samples_dropped > 0)"),
		0, "$name: nothing is lost");

	# many sites
	$sessions[0]->query_safe(join ';', map { "SELECT leak_at_depth($_, 100, 1)" } 1 .. 60);
	is(ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report($pids[0]) WHERE 'leak_at_depth' = ANY (functions(stack))"),
		6000, "$name: a profile that grows is exact");
	kill 'KILL', $pids[1];
	wait_until(sub { slurp_file($node->logfile) =~ /PID $pids[1]\) was terminated by signal 9.*ready to accept/s }, "$name: the server restarts");
	wait_for_server($node);
	for my $session (@sessions)
	{
		$session->{run}->kill_kill;
	}
	ok($node->poll_query_until('postgres', "SELECT count(*) = $sessions FROM pg_leakhunt_dumps WHERE pid IN ($pids) AND reason = 'crash' AND live_bytes >= 64000"),
		"$name: what they held are dumps");
	return;
}

sub stop
{
	my ($node, $name, $directory) = @_;

	# the keeper ends with the server, and would leave the rest to the next one
	wait_until(sub { !grep { /^\d+$/ && !-e "/proc/$_" } profile_files($directory) }, "$name: the keeper has done its work");
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal (?!9)|pg_leakhunt is inactive/, "$name: nobody crashed who was not killed");
	wait_until(sub { !grep { !/^README$|\.saved$/ } profile_files($directory) }, "$name: no profile is left of processes that ended well") or diag(join q{ }, profile_files($directory));
	return;
}

SKIP:
{
	skip $ENV{NO_HUGE_PAGES}, 1 if $ENV{NO_HUGE_PAGES};
	my $node = new_server('reserved', "${conf}huge_pages = on\nshared_buffers = 64MB\n");
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	cmp_ok(huge_kb($postmaster, qr/hugepage/), '>', 0, 'huge_pages = on: the shared memory is on huge pages');
	my $directory = profile_directory($node);
	check_server($node, 'huge_pages = on', 20);
	stop($node, 'huge_pages = on', $directory);
}

SKIP:
{
	skip $ENV{NO_HUGE_SHMEM}, 1 if $ENV{NO_HUGE_SHMEM};
	my $node = new_server('transparent', "${conf}huge_pages = off\nshared_buffers = 64MB\n");
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	$node->safe_psql('postgres', 'CREATE TABLE filling AS SELECT g, repeat(\'x\', 1000) FROM generate_series(1, 40000) g');
	cmp_ok(huge_kb($postmaster, qr{/dev/zero}), '>', 0, 'transparent huge pages: the shared memory is on huge pages');
	my $directory = profile_directory($node);
	check_server($node, 'transparent huge pages', 20);
	stop($node, 'transparent huge pages', $directory);
}

SKIP:
{
	skip $ENV{NO_HUGE_DISK}, 1 if $ENV{NO_HUGE_DISK};
	my $directory = "$ENV{HUGE_DISK}/profiles";

	mkdir $directory, 0700 or die $!;
	my $node = new_server('profiles', "${conf}pg_leakhunt.profile_directory = '$directory'\npg_leakhunt.max_profile_size = 32MB\n");
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe('SELECT leak_top(64, 1000)');
	cmp_ok((stat "$directory/$pid")[12] * 512, '>=', 2 << 20, 'profiles on huge pages: a small profile takes a huge page');
	cmp_ok(process_row($node, $pid)->{profile_bytes}, '<', 2 << 20, 'profiles on huge pages: what is said of a profile is its own size');
	$session->quit;
	check_server($node, 'profiles on huge pages', 30);
	stop($node, 'profiles on huge pages', $directory);

	# little room: no session may die of a page that there is not
	my $small = "$ENV{SMALL_HUGE_DISK}/profiles";
	mkdir $small, 0700 or die $!;
	$node->append_conf('postgresql.conf', "pg_leakhunt.profile_directory = '$small'\n");
	$node->start;
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 40;
	for my $round (1 .. 3)
	{
		$_->query_safe('SELECT leak_top(64, 1000)') for @sessions;
		$_->query_safe(join ';', map { "SELECT leak_at_depth($_, 100, 1)" } 1 .. 60) for @sessions[ 0 .. 4 ];
	}
	is(join(' ', map { $_->query_safe('SELECT 1') } @sessions), join(' ', (1) x 40), 'profiles on few huge pages: all sessions go on');
	note('profiles on few huge pages: ', ask($node, q{SELECT count(*) || ' of ' || (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') FROM pg_leakhunt_processes WHERE backend_type = 'client backend'}), ' sessions are shown');
	$_->quit for @sessions;
	stop($node, 'profiles on few huge pages', $small);
}
done_testing();
