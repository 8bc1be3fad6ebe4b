# How many connections the host bears: what the keeper has seen of sessions, what becomes of
# that when the server stops, crashes, or finds another's file, and who may see it.  The
# arithmetic is in unit test_capacity; bench/capacity/run tries whether the answer holds.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $node = new_server('main', "$quick_keeper\nrestart_after_crash = on\n");
$node->safe_psql('postgres', q{
	CREATE ROLE planner LOGIN;
	CREATE ROLE sorter LOGIN;
	CREATE ROLE stranger LOGIN;
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	ALTER ROLE sorter SET work_mem = '64MB'});

# Columns of a row; that of all sessions without an application.
sub row_of
{
	my ($application, @columns) = @_;
	my $where = defined $application ? "application_name = '$application'" : 'username IS NULL AND application_name IS NULL';

	return split /\|/, $node->safe_psql('postgres',
		'SELECT ' . join(', ', @columns) . " FROM pg_leakhunt_capacity('1 hour') WHERE $where"), -1;
}

# Sessions of a role with an application; each has done that.
sub sessions_of
{
	my ($role, $count, $sql) = @_;
	my @sessions = map { $node->background_psql('postgres', extra_params => [ '-U', $role ]) } 1 .. $count;

	for (@sessions)
	{
		$_->query_safe("SET application_name = '${role}_app'");
		$_->query_safe($sql);
	}
	return @sessions;
}

# Wait until so many looks have seen sessions of an application.
sub wait_for_looks_at
{
	my ($application, $looks) = @_;

	wait_until(sub { ((row_of($application, 'looks'))[0] // 0) >= $looks }, "$looks looks have seen $application");
}

# What sessions have, and run.
my @planners = sessions_of('planner', 4, q{DO $$
	BEGIN
		FOR i IN 1 .. 1000 LOOP
			EXECUTE format('PREPARE p%s AS SELECT %s FROM pg_class a JOIN pg_class b USING (oid)', i, i);
		END LOOP;
	END$$});
my @sorters = sessions_of('sorter', 3, 'SELECT 1');
for (@sorters)
{
	$_->{stdin} .= "SELECT pg_sleep(600) FROM (SELECT count(*) FROM (SELECT repeat('x', 200) FROM generate_series(1, 100000) g ORDER BY 1 DESC, g) s) c;\n";
	$_->{run}->pump_nb;
}
wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE usename = 'sorter' AND wait_event = 'PgSleep'") == 3 },
	'the sorts are done, and held');
wait_for_looks_at('planner_app', 25);
wait_until(sub { (row_of('sorter_app', 'together_active'))[0] == 3 && (row_of('sorter_app', 'together_bytes'))[0] > 3 * 20 * $MB },
	'what the sorts have at the same moment is seen');
wait_until(sub { ((row_of('planner_app', 'plan_bytes'))[0] || 0) > 0 }, 'what the sessions have is counted');

my ($username, $sessions, $seen, $bytes, $parts) = row_of('planner_app', 'username', 'sessions', 'sessions_seen', 'session_bytes',
	'catalog_bytes + plan_bytes + other_context_bytes + malloc_bytes + malloc_free_bytes + beside_bytes + rest_bytes');
is($username, 'planner', 'a kind has a role');
is($sessions, 4, 'the sessions of the last look are there');
is($seen, 4, 'each is seen once');
is($parts, $bytes, 'the parts add up to what a session has');
wait_until(
	sub {
		my $counted = $node->safe_psql('postgres', q{SELECT sum(c.context_bytes)::bigint / 4 FROM pg_leakhunt_contexts c JOIN pg_stat_activity a USING (pid)
			WHERE a.application_name = 'planner_app' AND c.context_name IN ('CachedPlanSource', 'CachedPlanQuery', 'Prepared Queries', 'CachedPlan')});

		# what was not written to takes no memory
		my ($bytes) = row_of('planner_app', 'plan_bytes');
		return $bytes > $counted / 2 && $bytes <= $counted * 1.1;
	},
	'their plans have what was counted');
wait_until(sub { my ($sorted, $kept) = row_of('sorter_app', 'together_bytes', 'session_bytes'); $kept < $sorted / 6 },
	'what a statement takes is none of what the session has');

my ($fits, $low, $high, $known, $advice) = row_of('planner_app', "connections::numeric * session_bytes <= room_bytes * 1.1",
	'connections_low <= connections', 'connections <= connections_high', 'connections > 0', 'advice');
is("$fits $low $high $known", 't t t t', 'as many connections as there is room for');
like($advice, qr/^This host bears \d+ connections of this kind \(\d+ to \d+\)\. A session (grows to|has) .* for plans and functions/, 'and the same in words');
($known, $advice) = row_of(undef, 'connections > 0', 'advice');
is($known, 't', 'all kinds together have an answer');
like($advice, qr/Of .* of memory, sessions may have .* in all\..* max_connections allows \d+\. This is from \d+ looks in /s, 'with what there is, and since when it was seen');

# Who may see it.
sub seen_by
{
	my ($role) = @_;

	return $node->safe_psql('postgres', "SELECT coalesce(username, '-') FROM pg_leakhunt_capacity() WHERE username IS NULL OR application_name LIKE '%\\_app' ORDER BY 1",
		extra_params => [ '-U', $role ]);
}
is(seen_by('planner'), 'planner', 'a role sees its own kinds');
is(seen_by('stranger'), '', 'and nothing of others');
is(seen_by('monitor'), "-\nplanner\nsorter", 'members of pg_monitor see all');
my ($status, undef, $errors) = $node->psql('postgres', 'SELECT pg_leakhunt_capacity_reset()', extra_params => [ '-U', 'monitor' ]);
like($errors, qr/permission denied for function pg_leakhunt_capacity_reset/, 'but have nothing forgotten');

(undef, undef, $errors) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_capacity('-1 second')");
like($errors, qr/lifetime is out of range/, 'a lifetime is longer than nothing');

# A restart, a crash and an immediate stop.
my $directory = profile_directory($node);
my $data = $node->data_dir;
sub looks_now
{
	return (row_of(undef, 'looks'))[0];
}
# Since when it was looked; null while nothing was.
sub seen_since
{
	return (row_of(undef, 'since'))[0] // '';
}
sub quit_all
{
	$_->{run}->kill_kill for @planners, @sorters;
	@planners = @sorters = ();
}
# Stop, and wait for what the postmaster does last, when its pid file is gone.
sub stop_and_wait
{
	$node->stop('fast');
	return wait_until(sub { !(() = glob("$directory/capacity.*")) }, 'a server that stops leaves nothing in shared memory');
}
my $looks = looks_now();
stop_and_wait();
quit_all();
is(scalar(() = glob("$data/pg_leakhunt/capacity.*")), 1, 'it has written what it has seen');
$node->start;
wait_until(sub { looks_now() > $looks }, 'the next server goes on with it');
is((row_of('planner_app', 'sessions'))[0], 0, 'its sessions are gone');
is((row_of('planner_app', 'session_bytes > 0'))[0], 't', 'what they had is known');

$looks = looks_now();
my $victim = $node->background_psql('postgres');
my $offset = -s $node->logfile;
kill 'KILL', session_pid($victim);
wait_until(sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ }, 'the server goes on after a crash');
$victim->{run}->kill_kill;
wait_until(sub { looks_now() > $looks }, 'after a crash nothing is forgotten');
$looks = looks_now();
$node->stop('immediate');
$node->start;
wait_until(sub { looks_now() > $looks }, 'nor after an immediate stop');
my $since = seen_since();

# A file that was damaged, or is another's.  How often the keeper has looked again before
# somebody asks is chance; when it began is not.
stop_and_wait();
my ($file) = glob("$data/pg_leakhunt/capacity.*");
open my $handle, '+<', $file or die "$file: $!";
seek $handle, 100, 0;
print $handle 'damaged';
close $handle;
$offset = -s $node->logfile;
$node->start;
wait_until(sub { looks_now() > 0 }, 'with a damaged file it begins anew');
isnt(seen_since(), $since, 'with none of the former looks');
like(slurp_file($node->logfile, $offset), qr/ignores file ".*capacity\.\d+" of capacity\n.*checksum is not that of its contents\.\n.*kept as ".*capacity\.\d+\.damaged"/,
	'and the log says where the damaged one is');

# Forget it all.
$looks = looks_now();
wait_until(sub { looks_now() > $looks + 20 }, 'it looks');
$since = seen_since();
$node->safe_psql('postgres', 'SELECT pg_leakhunt_capacity_reset()');
isnt(seen_since(), $since, 'all of it is forgotten');
is((row_of('planner_app', 'looks'))[0], undef, 'with the kinds');
wait_until(sub { looks_now() > 0 }, 'and it looks again');

# Without a keeper nobody looks.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->stop('fast');
$node->start;
like((row_of(undef, 'advice'))[0], qr/^No session was looked at yet\. .*shared_preload_libraries/, 'without a keeper the answer says why there is none');
$node->stop('fast');

done_testing();
