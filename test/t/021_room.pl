# Room for others: a small /dev/shm, which PostgreSQL's own shared memory needs.
# And the directory there: cut files, a directory that is removed or taken.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# Bytes of /dev/shm that are free.
sub free_bytes
{
	my ($bytes) = run_tool('df', '--block-size=1', '--output=avail',
		'/dev/shm') =~ /(\d+)/;

	return $bytes;
}

# Bytes that the files of a directory take.
sub bytes_of_files
{
	my ($directory) = @_;
	my $sum = 0;

	$sum += (stat $_)[12] * 512 for glob("$directory/*");
	return $sum;
}

# Fill /dev/shm with a file; returns its path.
sub fill_up
{
	my $path = "/dev/shm/somebody's file";

	open my $file, '>', $path or die $!;
	for my $bytes (1 << 20, 4096)
	{
		1 while syswrite($file, 'x' x $bytes);
	}
	close $file;
	return $path;
}

# Directories that belong to user nobody alone, as programs make them that run as that user.
my @foreign;

sub make_foreign
{
	push @foreign, @_;
	run_tool("$ENV{AS_NOBODY}/mkdir", '-m', '0700', @_);
	return;
}

# What would show that somebody has done something to them: device, inode, mode, links,
# owners and times.
sub facts_of_foreign
{
	return { map { $_ => [ (stat $_)[ 0 .. 5, 9, 10 ] ] } @foreign };
}

# Returns the status of what removes them, which it can't if there is something in them.
sub remove_foreign
{
	return system("$ENV{AS_NOBODY}/rmdir", splice @foreign);
}

END
{
	my $status = $?;
	remove_foreign() if @foreign;
	$? = $status;
}

# Let a session leave chunks at many call sites, by many statements, and add the least
# number of these to what it holds.
sub hold_more
{
	my ($session, $name, $held) = @_;
	my ($contexts, $statements) = defined $held ? (400, 40) : (10, 1);

	$session->query(
		join '',
		"SELECT count(leak_named_context('$name' || i, 10)) FROM generate_series(1, $contexts) i;\n",
		map { "SELECT leak_top(10, 3) AS ${name}_$_;\n" } 1 .. $statements);
	$held->{ session_pid($session) } += $contexts + 3 * $statements if defined $held;
	return;
}

# The states of processes, by pid.
sub states
{
	my ($node, $pids) = @_;
	my $list = join ', ', keys %$pids;

	return { map { split /\|/ } split /\n/,
		ask($node, "SELECT pid, state FROM pg_leakhunt_processes WHERE pid IN ($list)") };
}

# Which processes have all that they hold in their row, and as much in their report.
sub is_counted
{
	my ($node, $held, $name) = @_;
	my $wanted = join ', ', map { "($_, $held->{$_})" } keys %$held;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( ask($node, qq{
			SELECT count(*) FROM (VALUES $wanted) AS w (pid, held) JOIN (pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid)) p USING (pid),
				LATERAL (SELECT sum(live_count) AS live_count, sum(live_bytes) AS live_bytes
					FROM pg_leakhunt_report(p.pid, false)) r
			WHERE p.live_count >= held AND r.live_count = p.live_count AND r.live_bytes = p.live_bytes}),
		scalar keys %$held,
		$name);
}

# Processes whose reports have a row of what has no call site in them.
sub count_full
{
	my ($node, $held) = @_;
	my $list = join ', ', keys %$held;

	return ask($node,
		"SELECT count(*) FROM pg_leakhunt_report WHERE pid IN ($list) AND site = '[no room]' AND live_count > 0");
}

my $node = new_server('main', <<'CONF');
autovacuum = off
restart_after_crash = on
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 1GB
max_parallel_workers_per_gather = 2
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
CONF
my $directory = profile_directory($node);
my $parallel = q{SELECT count(*) > 100 FROM pg_class a, pg_attribute b
	WHERE a.oid = b.attrelid};

# A redirection can't cut a file that processes have mapped.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe("SELECT leak_named_context('c' || i, 10) FROM generate_series(1, 2000) i");
my $cut;
ok(!open($cut, '>', "$directory/$pid"), 'a profile cannot be cut short')
  or close $cut;
my ($control) = grep { /^control/ } profile_files($directory);
ok(!open($cut, '>', "$directory/$control"), 'the file of requests cannot be cut short')
  or close $cut;
is( $session->query_safe("SELECT leak_top(10, 1); SELECT 'well'") =~ /well/,
	1, 'a session goes on after others tried to cut its profile short');
is( ask($node,
		"SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/$pid/maps'), '\\n') line WHERE line LIKE '%/$pid%'"
	),
	1,
	'a profile that has grown is mapped in one piece');
cmp_ok(process_row($node, $pid)->{profile_bytes}, '>', 512 * 1024,
	'a profile has grown beyond 512 kB');
$session->quit;

# Someone removes the directory.  Whoever takes samples makes it again, and so
# only one session does that here.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT leak_top(10, 1000)');
set_and_reload($node, 'pg_leakhunt.sample_interval', '1GB');
run_tool('rm', '-r', $directory);
my ($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) FROM pg_leakhunt_processes');
like($stderr, qr/directory "\Q$directory\E".* was removed/,
	'a session that looks says that the directory is gone');

# Anybody may have made one of that name by then, to put other files in the place
# of profiles: nothing is written there.
mkdir $directory;
chmod 0777, $directory;
select(undef, undef, undef, 1.1);
$session->query_safe('SELECT leak_top(10, 1000)') for 1 .. 40;
is(join(' ', profile_files($directory)), '',
	'no process uses a directory that others may enter');
rmdir $directory or die $!;
select(undef, undef, undef, 5.1);
$session->query_safe('SELECT leak_top(10, 1000)') for 1 .. 40;
is(report_row($node, $pid, 'leaking_top')->{live_count},
	81_000, 'processes make a directory again that was removed');
is(ask($node, "SELECT pg_leakhunt_stop($pid)"), 't', 'requests can be made in a directory that was made again');
cmp_ok(ask($node, 'SELECT pg_leakhunt_baseline_all()'),
	'>=', 1, 'baselines can be taken in a directory that was made again');
($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) FROM pg_leakhunt_processes');
is($stderr, '', 'nobody is told that a directory is gone once it was made again');
$session->quit;
set_and_reload($node, 'pg_leakhunt.sample_interval', '1');

# Its files are the server's all the same.
$node->stop;
is_gone($directory, 'the server removes its directory when it stops');

# The name of the directory is taken, by one that others may enter.
mkdir $directory or die $!;
chmod(0755, $directory) or die $!;
$node->start;
is(profile_directory($node), "$directory.2", 'a server takes another name if that of its directory is taken');
$node->stop;
is_gone("$directory.2", 'a directory of another name goes with the server');
run_tool('rm', '-r', $directory);

# Or by one that is another user's alone.
SKIP:
{
	skip "no directory of another user: $ENV{NO_NOBODY}", 1 if !$ENV{AS_NOBODY};
	make_foreign($directory);
	my $as_made = facts_of_foreign();
	$node->start;
	ok(-d "$directory.2", "a server takes another name if that of its directory is another user's");
is(profile_directory($node), "$directory.2", 'profiles are in the directory of another name');
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	$session->query_safe('SELECT leak_top(10, 1000)');
	is(process_row($node, $pid)->{state}, 'live', 'a profile in the directory of another name is live');
	is(report_row($node, $pid, 'leaking_top')->{live_count}, 1000, 'a profile in the directory of another name has what is held');
	is(ask($node, "SELECT pg_leakhunt_baseline($pid)"), 1, 'a baseline can be taken in the directory of another name');
	$session->query_safe('SELECT leak_top(10, 500)');
	is( ask($node,
			"SELECT sum(growth_count) FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'leaking_top'"),
		500,
		'growth is counted from a baseline in the directory of another name');
	is(ask($node, "SELECT pg_leakhunt_stop($pid)"), 't', 'a request can be made in the directory of another name');
	$session->query_safe('SELECT leak_top(10, 1)');
	is(process_row($node, $pid)->{sampling}, JSON::PP::false, 'a request in the directory of another name is fulfilled');
	$session->quit;
	$node->restart;
	is(profile_directory($node), "$directory.2", 'the next start comes to the same other name');
	$node->stop;
	is_gone("$directory.2", 'a directory of another name goes with the server after a restart');
	is_deeply(facts_of_foreign(), $as_made, "the other user's directory is as it was");

	# All the names that there are.
	make_foreign(map { "$directory.$_" } 2 .. 8);
	$as_made = facts_of_foreign();
	$node->start;
	is(ask($node, 'SELECT leak_top(10, 1000) IS NOT NULL'), 't', 'a server without a name for its directory works');
	like( slurp_file($node->logfile),
		qr/WARNING:  pg_leakhunt is inactive\n.*DETAIL:  Directory "\Q$directory\E" belongs to another user\./,
		'a server without a name for its directory tells why nothing is sampled');
	$node->stop;
	is_deeply(facts_of_foreign(), $as_made, "the other user's directories are as they were");
	is(remove_foreign(), 0, "the other user's directories are empty");
}
$node->start;
is(profile_directory($node), $directory, 'the first name is taken again when it is free');

# From here on /dev/shm must be small.
SKIP:
{
	skip 'no small /dev/shm could be mounted', 1 if !$ENV{SMALL_SHM};
	my $all = $ENV{SMALL_SHM};
	my $sites =
	  "SELECT count(leak_named_context('c' || i, 10)) FROM generate_series(1, 7500) i";

	$node->safe_psql('postgres', 'CREATE ROLE app LOGIN');
	is(ask($node, $parallel), 't', 'a parallel query works in an empty /dev/shm');
	my @sessions =
	  map { $node->background_psql('postgres', extra_params => [ '-U', 'app' ]) }
	  1 .. 9;
	my @pids = map { session_pid($_) } @sessions;
	$_->query_safe($sites) for @sessions;
	cmp_ok(bytes_of_files($directory), '<=', $all / 4,
		'profiles take a quarter of /dev/shm at most');
	cmp_ok(bytes_of_files($directory), '>', $all / 8, 'profiles take more than an eighth of /dev/shm');
	cmp_ok(free_bytes(), '>=', 16 * 1024 * 1024, 'profiles leave 16 MB for others');
	is(ask($node, $parallel), 't', 'a parallel query works beside many profiles');

	my $list = join ', ', @pids;
	my $unpublished = ask($node,
		"SELECT count(*) FROM pg_leakhunt_processes WHERE pid IN ($list) AND state = 'unpublished'"
	);
	cmp_ok($unpublished, '>', 0, 'profiles without room are unpublished');
	is( ask($node,
			"SELECT count(*) FROM pg_leakhunt_processes WHERE pid IN ($list)"),
		9,
		'processes are listed whether their profiles have room or not');
	is( ask(
			$node, qq{
		SELECT count(*) FROM (pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid)) p,
			LATERAL (SELECT sum(live_bytes) AS live_bytes, sum(live_count) AS live_count,
				sum(samples) AS samples, sum(peak_bytes) AS peak_bytes
				FROM pg_leakhunt_report(p.pid, false)) r
		WHERE p.pid IN ($list) AND r.live_bytes = p.live_bytes
			AND r.live_count = p.live_count AND r.samples = p.samples_live}),
		9,
		'the sites of each process add up to its figures');
	is( ask($node,
			"SELECT sum(samples_dropped) FROM pg_leakhunt_sampling WHERE pid IN ($list)"
		),
		0,
		'no sample of processes without room is lost');

	# What is given back is used, at the next try, which may be 5 s off.
	$_->quit for @sessions[ 0 .. 6 ];
	wait_until(
		sub {
			$sessions[$_]->query_safe('SELECT leak_top(10, 100)') for 7, 8;
			ask($node,
				"SELECT count(*) FROM pg_leakhunt_processes WHERE pid IN ($pids[7], $pids[8]) AND state = 'live'"
			) == 2;
		},
		'profiles are shown as a whole as soon as there is room');

	# A crash: what it leaves must not keep anybody out.
	@sessions =
	  map { $node->background_psql('postgres', extra_params => [ '-U', 'app' ]) }
	  1 .. 9;
	$_->query_safe($sites) for @sessions;
	my $victim = session_pid($sessions[3]);
	kill 'KILL', $victim;
	$_->{run}->kill_kill for @sessions;
	wait_for_server($node, $victim);
	is( scalar(
			grep {
				$node->psql('postgres',
					"CREATE TEMP TABLE t$_ AS SELECT 1; $parallel") == 0
			} 1 .. 10),
		10,
		'ten of ten sessions work after a crash');
	my $kept = 0;
	$kept += -s "$directory/$_" // 0 for grep { /^\d+\./ } profile_files($directory);
	cmp_ok($kept, '<=', $ENV{SMALL_SHM} / 8, 'what the dead have left takes an eighth at most');
	cmp_ok(free_bytes(), '>=', 16 * 1024 * 1024, 'the profiles of dead processes leave 16 MB for others');
	my $log = slurp_file($node->logfile);
	is( scalar(my @errors = $log =~ /could not resize shared memory/g),
		0, 'no process has met a full /dev/shm');
	is(scalar(my @crashes = $log =~ /was terminated by signal/g),
		1, 'no process has crashed but the one that was killed');

	# Somebody else fills what is left, when profiles are mapped.  Parallel queries would
	# need some of it.  A start removes what the dead have left, but lets sessions in before
	# it has done so, and they would get that room.
	$node->append_conf('postgresql.conf', 'max_parallel_workers_per_gather = 0');
	$node->restart;
	wait_until(sub { !grep { /^\d+\./ } profile_files($directory) }, 'what the dead have left is gone');
	@sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
	my %held = map { session_pid($_) => 0 } @sessions;
	hold_more($_, 'before', \%held) for @sessions;
	is_deeply(states($node, \%held), { map { $_ => 'live' } keys %held }, 'profiles are live before /dev/shm is full');
	my $foreign = fill_up();
	is(free_bytes(), 0, '/dev/shm is full, by a file of somebody else');

	# They grow to several times what they were, more than any file has been made larger
	# than it needs to be, and others begin.
	for my $session (@sessions)
	{
		hold_more($session, "meanwhile_$_", \%held) for 1 .. 4;
	}
	my %begun;
	my @later = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
	$begun{ session_pid($_) } = 0 for @later;
	hold_more($_, 'late', \%begun) for @later;
	is_deeply(states($node, \%held), { map { $_ => 'unpublished' } keys %held },
		'profiles that have grown are unpublished');
	is_counted($node, \%held, 'processes without room count all that they hold');
	is(count_full($node, \%held), scalar @sessions, 'processes without room have a row of what has no call site');
	is_deeply(states($node, \%begun), { map { $_ => 'small' } keys %begun },
		'processes that began without room have no profile to show');
	is(free_bytes(), 0, '/dev/shm is still full');

	# It goes away.
	unlink $foreign or die $!;
	wait_until(
		sub {
			hold_more($_, 'after', undef) for @sessions, @later;
			return !grep { $_ ne 'live' } values %{ states($node, { %held, %begun }) };
		},
		'profiles are shown as a whole when the file of somebody else is gone');
	%held = (%held, %begun);
	is_counted($node, \%held, 'processes that had no room have counted all that they hold');
	is(count_full($node, \%held), 0, 'processes that had no room show all at call sites');
	is( ask($node,
			"SELECT sum(samples_dropped) FROM pg_leakhunt_sampling WHERE pid IN (@{[ join ', ', keys %held ]})"),
		0,
		'no sample is lost while /dev/shm is full');
	is(join('', map { $_->{stderr} } @sessions, @later), '', 'no statement has an error while /dev/shm is full');
	$_->quit for @sessions, @later;
	is(scalar(@crashes = slurp_file($node->logfile) =~ /was terminated by signal/g),
		1, 'no process has crashed in a full /dev/shm');
}
$node->stop;
done_testing();
