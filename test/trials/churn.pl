# A thousand connections that come, work, and leave or are terminated, or whose client is
# killed, while others read the views: afterwards nothing of them is left.  Needs many
# processes for some time: CHURN_SECONDS (600) and CHURN_SESSIONS (1000).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{CHURN_SECONDS} || 600;
my $sessions = $ENV{CHURN_SESSIONS} || 1000;

# each pgbench has its share of the sessions
my $groups = 4;

my $node = new_server('main', <<"CONF");
max_connections = @{[$sessions + 50]}
log_line_prefix = '%p '
pg_leakhunt.sample_interval = 4kB
pg_leakhunt.dump_min_bytes = 400kB
pg_leakhunt.dump_keep = 20
CONF
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $directory = profile_directory($node);
my $folder = PostgreSQL::Test::Utils::tempdir();

# What a session does before it is still for a while: some keep much, most a little.
append_to_file("$folder/work.sql", <<'SQL');
\set bytes random(16, 400)
\set chunks random(1, 2000)
\set pause random(1, 3000)
SELECT leak_top(:bytes, :chunks), allocate_in_balance(100, 1000);
SELECT count(*), max(relname) FROM pg_class WHERE relpages > :bytes;
SELECT pg_sleep(:pause / 1000.0);
SQL

$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';

# One pgbench, whose sessions connect anew for each transaction, or stay.
sub start_group
{
	my ($group) = @_;
	my $clients = int($sessions / $groups);
	my @anew = $group % 2 ? ('-C') : ();

	# those that are terminated don't come back, so none lasts long
	return {
		anew => scalar @anew,
		until => time + 5 + int(rand(20)),
		run => IPC::Run::start(
			[
				'pgbench', '-n', '-c', $clients, '-j', 2, '-T', 60, @anew,
				'-f', "$folder/work.sql"
			],
			'>', '/dev/null', '2>', '/dev/null')
	};
}

# Half of them are killed, and their sessions notice that nobody is there any more.
sub end_group
{
	my ($group) = @_;

	$group->{run}->signal(int(rand(2)) ? 'KILL' : 'INT');
	eval { $group->{run}->finish };
	return;
}

# Descriptors, mappings and kB of own memory of a process, written to or not, by name.
sub taken_by
{
	my ($pid) = @_;
	my ($own_kb) = slurp_file("/proc/$pid/status") =~ /^VmData:\s+(\d+)/m;

	return {
		descriptors => scalar(() = glob("/proc/$pid/fd/*")),
		mappings => scalar(() = slurp_file("/proc/$pid/maps") =~ /\n/g),
		own_kb => $own_kb
	};
}

# How many locks anybody has on files of that directory.
sub locks
{
	my %inodes = map { (stat $_)[1] // 0 => 1 } $directory, glob("$directory/*");

	return scalar grep { /:(\d+) \d+ \S+$/ && $inodes{$1} } split /\n/, slurp_file('/proc/locks');
}

# Files of processes that are gone.
sub orphans
{
	return grep { /^\d/ && !-e "/proc/$_" } profile_files($directory);
}

my $reader = $node->background_psql('postgres', on_error_stop => 0);
my @questions = (
	'SELECT count(*) FROM pg_leakhunt_processes',
	'SELECT count(*) FROM pg_leakhunt_metrics',
	'SELECT count(*) FROM pg_leakhunt_contexts',
	'SELECT count(*) FROM pg_leakhunt_dumps',
	'SELECT count(*) FROM pg_leakhunt_suspects',
	'SELECT count(*) FROM pg_leakhunt_report WHERE live_bytes > 100000',
	q{SELECT length(pg_leakhunt_flamegraph('all'))});

sub keeper_pid
{
	return ask($node, q{SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'});
}

# The first connections fill caches of the postmaster's.
my @groups = map { start_group($_) } 0 .. $groups - 1;
sleep 20;
end_group($_) for @groups;
ok($node->poll_query_until('postgres', "SELECT count(*) <= 2 FROM pg_stat_activity WHERE backend_type = 'client backend'"),
	'the first sessions have ended');
my $before = taken_by($postmaster);
my $locks_before = locks();
my $keeper = keeper_pid();
my $keeper_before = taken_by($keeper);

@groups = map { start_group($_) } 0 .. $groups - 1;
my $end = time + $seconds;
my ($most_sessions, $most_files, $asked, $terminated) = (0) x 4;
my @complaints;
my @slowest = (0, '');
while (time < $end)
{
	my $question = $questions[ $asked++ % @questions ];
	my $began = time;

	$reader->query($question);
	@slowest = (time - $began, $question) if time - $began > $slowest[0];
	push @complaints, $reader->{stderr} if $reader->{stderr} ne '';
	$reader->{stderr} = '';
	# some end by themselves meanwhile, which is a WARNING
	$terminated += $reader->query(q{
		SELECT count(pg_terminate_backend(pid)) FROM (
			SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
			ORDER BY random() LIMIT 10) AS chosen});
	$reader->{stderr} = '';
	my $there = $reader->query_safe(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'});
	$most_sessions = $there if $there > $most_sessions;
	my $files = () = profile_files($directory);
	$most_files = $files if $files > $most_files;
	for my $group (0 .. $groups - 1)
	{
		next if time < $groups[$group]{until};
		end_group($groups[$group]);
		$groups[$group] = start_group($group);
	}
}
end_group($_) for @groups;

my $connections = $reader->query_safe(q{SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'});
note("$seconds s, $connections connections, at most $most_sessions at once, $terminated terminated, at most $most_files profiles, $asked questions, the slowest $slowest[0] s: $slowest[1]");
is(join("\n", @complaints), '', 'the views have no complaint while sessions come and go');
cmp_ok($most_sessions, '>', $sessions / 4, 'many sessions are there at once');
ok($node->poll_query_until('postgres', "SELECT count(*) <= 2 FROM pg_stat_activity WHERE backend_type = 'client backend'"),
	'all sessions have ended');
wait_until(sub { !orphans() }, 'no profile is left of sessions that have ended') or diag(join ' ', orphans());
cmp_ok(locks(), '<=', $locks_before, 'no lock is left of sessions that have ended');
is($reader->query_safe(q{SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'}), 0, 'no process seems to have crashed');
my $after = taken_by($postmaster);
note("postmaster: $before->{$_} $_ before, $after->{$_} after") for sort keys %$before;
cmp_ok($after->{descriptors}, '<=', $before->{descriptors}, 'the postmaster has no more descriptors than before');
cmp_ok($after->{mappings}, '<=', $before->{mappings} + 4, 'the postmaster has no more mappings than before');
cmp_ok($after->{own_kb}, '<', $before->{own_kb} + 1024, 'the memory of the postmaster is bounded');
is(keeper_pid(), $keeper, 'the keeper is the same as before');
my $keeper_after = taken_by($keeper);
note("keeper: $keeper_before->{$_} $_ before, $keeper_after->{$_} after") for sort keys %$keeper_after;
cmp_ok($keeper_after->{descriptors}, '<=', $keeper_before->{descriptors}, 'the keeper has no more descriptors than before');
cmp_ok($keeper_after->{own_kb}, '<', $keeper_before->{own_kb} + 1024, 'the memory of the keeper is bounded');
my @dumps = glob($node->data_dir . '/pg_leakhunt/*.profile');
cmp_ok(scalar @dumps, '<=', 40, 'no more dumps stay than are to be kept');
is_deeply([ glob($node->data_dir . '/pg_leakhunt/*.tmp') ], [], 'no dump is left incomplete');
$reader->quit;
$node->stop;
wait_until(sub { !-e $directory }, 'the directory of the profiles is gone with the server');
is_deeply([ grep { /PANIC|TRAP|terminated by signal|WARNING/ && !/PID \d+ is not a PostgreSQL backend process/ } split /\n/, slurp_file($node->logfile) ],
	[], 'nobody crashed, and there is no warning in the log');

done_testing();
