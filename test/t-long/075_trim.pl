# pg_leakhunt_trim has a process give back what malloc keeps although it was freed: an idle
# session at once, another one when its transaction ends.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# malloc keeps all that is freed
$ENV{MALLOC_TRIM_THRESHOLD_} = $ENV{MALLOC_MMAP_THRESHOLD_} = 4 << 30;
my $node = new_server('main');
delete @ENV{qw(MALLOC_TRIM_THRESHOLD_ MALLOC_MMAP_THRESHOLD_)};

my $large = "SELECT array_length(array_agg(repeat('x', 1000)), 1) FROM generate_series(1, 150000)";
my $kept = 100 << 20;
my $private = sub { process_row($node, $_[0])->{rss_anon_bytes} };
my $trim = sub { [ $node->psql('postgres', "SELECT pg_leakhunt_trim($_[0])") ] };

my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe($large);
my $before = $private->($pid);
cmp_ok($before, '>', $kept, 'malloc keeps what a large statement has freed');
my $given_back = ask($node, "SELECT pg_leakhunt_trim($pid)");
cmp_ok($given_back, '>', $kept, 'an idle session gives it back');
cmp_ok($before - $private->($pid), '>', $kept, 'as the kernel says, too');
cmp_ok(abs($before - $private->($pid) - $given_back), '<', $given_back / 4, 'which is what was returned');
is($session->query_safe('SELECT count(*) FROM pg_class') > 0, 1, 'the session goes on');
cmp_ok(ask($node, "SELECT pg_leakhunt_trim($pid)"), '<', $given_back / 4, 'there is little to give back then');

# within a transaction, when it ends
$session->query_safe($large);
$session->query_safe('BEGIN');
my $result = $trim->($pid);
is($result->[1], '', 'a session in a transaction returns null');
like($result->[2], qr/NOTICE:  process $pid has not given back memory yet\nDETAIL:  It will do so when its transaction ends\./m, 'a NOTICE says why');
$before = $private->($pid);
$session->query_safe('COMMIT');
cmp_ok($before - $private->($pid), '>', $kept, 'and does so then');

# the session itself
$session->query_safe($large);
$before = $private->($pid);
$session->query('SELECT pg_leakhunt_trim(pg_backend_pid())');
$session->query_safe('SELECT 1');
cmp_ok($before - $private->($pid), '>', $kept, 'a session can ask itself');

# who can't
$result = $trim->(99999999);
like($result->[2], qr/WARNING:  PID 99999999 is not a PostgreSQL server process/, 'there must be such a process');
my $checkpointer = ask($node, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
$result = $trim->($checkpointer);
is("$result->[0] $result->[1]", '0 ', 'the checkpointer is no ERROR');
like($result->[2], qr/WARNING:  process $checkpointer cannot be asked to give back memory\nDETAIL:  It runs no transactions/, 'but a WARNING');
like($trim->('NULL')->[2], qr/ERROR: /, 'a null pid is an ERROR');

# many at a time, and while they work
my @sessions = map { $node->background_psql('postgres') } 1 .. 8;
$_->query_safe($large) for @sessions;
my @pids = map { session_pid($_) } @sessions;
is(ask($node, 'SELECT count(*) FROM unnest(ARRAY[' . join(',', @pids) . "]) p WHERE pg_leakhunt_trim(p) > $kept"), 8, 'each of several gives back its own');
$node->command_ok([ 'pgbench', '-i', '-q', '-h', $node->host, '-p', $node->port, 'postgres' ], 'pgbench has tables');
$ENV{PGAPPNAME} = 'working';
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '3600', '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \my $out, '2>', \my $err);
delete $ENV{PGAPPNAME};
wait_until(sub { ask($node, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'working'") >= 2 }, 'pgbench works');
is(ask($node, "SELECT count(pg_leakhunt_trim(pid)) FROM pg_stat_activity WHERE application_name = 'working'"), 2, 'sessions that work do so, too');
$bench->signal('TERM');
$bench->finish;
unlike($err, qr/error|aborted/i, 'and nothing fails');
$_->quit for @sessions, $session;
$node->stop;

# A value of 31 MB that is freed raises malloc's thresholds, so it keeps the blocks of a
# sort that ends before what was allocated after it; unless the environment forbids it.
my $free_after_sort = sub {
	my ($name) = @_;
	my $server = new_server($name);
	my $sorter = $server->background_psql('postgres');

	$sorter->query_safe("SELECT length(repeat('x', 31000000))");
	$sorter->query_safe("SET work_mem = '1GB'; BEGIN; DECLARE c CURSOR FOR SELECT i::text || repeat('x', 1000) AS r FROM generate_series(1, 200000) i ORDER BY r; FETCH 1 FROM c");
	$sorter->query_safe(join '', map { "PREPARE p$_ AS SELECT " . join(',', ('attname') x 100) . ' FROM pg_attribute;' } 1 .. 200);
	$sorter->query_safe('COMMIT');
	$sorter->query_safe('SELECT pg_sleep(0.5)');
	my $free = process_row($server, session_pid($sorter))->{malloc_free_bytes};
	$sorter->quit;
	$server->stop;
	return $free;
};
cmp_ok($free_after_sort->('raised'), '>', $kept, 'malloc keeps the blocks of a sort, after it has raised its thresholds');
{
	local $ENV{MALLOC_TRIM_THRESHOLD_} = 131072;
	cmp_ok($free_after_sort->('fixed'), '<', $kept / 4, 'with a threshold in the environment it returns them');
}

SKIP:
{
	my ($jemalloc) = `ldconfig -p` =~ m{libjemalloc\.so\.2 .*=> (\S+)};

	skip 'no jemalloc', 1 if !$jemalloc;
	local $ENV{LD_PRELOAD} = $jemalloc;
	my $other = new_server('other');
	delete $ENV{LD_PRELOAD};
	my $holder = $other->background_psql('postgres');
	$holder->query_safe('SELECT leak_top(1000, 20000)');
	my $holder_pid = session_pid($holder);
	my ($status, $stdout, $stderr) = $other->psql('postgres', "SELECT pg_leakhunt_trim($holder_pid)");
	is($stderr, '', 'jemalloc gives back what it keeps, too');
	like($stdout, qr/^\d+$/, 'and says how much');
	$holder->quit;
	$other->stop;
}
done_testing();
