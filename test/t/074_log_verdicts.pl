# A finding that nobody asks for is in the server's log: once for a process and call site,
# and again when it is four times as large; not what is suppressed, only grows, or lives
# a few seconds; at most ten lines a minute.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# Two looks of the keeper, and the time that names of functions take.
my $soon = 30;

my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = '4kB'
max_worker_processes = 8
CONF
my $quiet = new_server('quiet', "pg_leakhunt.log_verdicts = off\npg_leakhunt.sample_interval = '4kB'\n");
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION remember(n int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM leak_top(n, 100);
END $f$;
CREATE DATABASE plain;
SQL
# a database without the extension, whose sessions have the library all the same
$node->safe_psql('plain', "CREATE FUNCTION leak_cache(int, bigint) RETURNS void AS '"
		. $node->safe_psql('postgres', "SELECT probin FROM pg_proc WHERE proname = 'leak_cache'")
		. "' LANGUAGE C");

# The lines on a process, headline and detail and hint each.
sub lines_on
{
	my ($server, $pid, $offset) = @_;
	my $log = slurp_file($server->logfile, $offset // 0);

	return $log =~ /LOG:  (process $pid (?:leaks|keeps|runs|creates|takes|maps) .*\n(?:.*(?:DETAIL|HINT):  .*\n)*)/g;
}

# Let sessions leak side by side, by a statement that each calls so often; returns their
# pids.  What is over within a moment is no leak.
sub leak_in
{
	my ($sessions, $statement, $times) = @_;

	for (1 .. $times)
	{
		$_->query_safe($statement) for @$sessions;
		select(undef, undef, undef, 0.05);
	}
	return map { session_pid($_) } @$sessions;
}

sub leak
{
	my ($session, @call) = @_;

	return (leak_in([$session], @call))[0];
}

my $background_gone = $node->background_psql('postgres');
my $session = $node->background_psql('postgres');
$session->query_safe("SET application_name = 'shop'");
my $pid = leak($session, 'SELECT remember(1000)', 60);
my $unheeded = $quiet->background_psql('postgres');
my $unheeded_pid = leak($unheeded, 'SELECT leak_top(1000, 100)', 60);

# what ends at once is no news
my $short_pid = leak($background_gone, 'SELECT leak_top(1000, 800)', 15);
$background_gone->quit;

my $began = time;
wait_until(sub { scalar(() = lines_on($node, $pid)) > 0 }, 'a leak is in the log');
cmp_ok(time - $began, '<=', $soon, 'within half a minute');
my ($line) = lines_on($node, $pid);
like($line, qr/^process $pid leaks memory: \d+ [kM]B.* at leaking_top.* in TopMemoryContext$/m, 'the line says how much, and where');
like($line, qr/DETAIL:  Process: client backend, user ".*", database "postgres", application "shop"\.  .* has not been freed, and it (?:keeps growing|kept growing until .*)\. Averaged over the last \d+ transactions, it grew by /,
	'the detail says who, and why it is a leak');
like($line, qr/  Allocated in remember\(integer\) line 3\./, 'and in which function');
like($line, qr/  Statement: SELECT remember\(1000\)\W*$/m, 'and statement');
like($line, qr/HINT:  Report this to the authors of leaker\.so.*SELECT explanation FROM pg_leakhunt_explain\($pid\) tells more\.$/m, 'the hint says what to do');
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid)"), qr/^Verdict: leak at leaking_top/m, 'which works');

# Once, until it is four times as large.
leak($session, 'SELECT remember(1000)', 60);
sleep 21;
is(scalar(() = lines_on($node, $pid)), 1, 'a leak that has doubled is not told again');
is(scalar(() = lines_on($node, $short_pid)), 0, 'a session that ended at once is not told of');
leak($session, 'SELECT remember(1000)', 150);
wait_until(sub { scalar(() = lines_on($node, $pid)) == 2 }, 'one that is four times as large is');

# Suppressions are those of the process' database.
$node->safe_psql('postgres', "INSERT INTO pg_leakhunt_suppressions VALUES ('leaking_in', 'known')");
my $offset = -s $node->logfile;
my $suppressed = $node->background_psql('postgres');
my $suppressed_pid = leak($suppressed, 'SELECT leak_cache(1000, 100)', 60);
my $told = $node->background_psql('plain');
my $told_pid = leak($told, 'SELECT leak_cache(1000, 100)', 60);
wait_until(sub { scalar(() = lines_on($node, $told_pid)) == 1 }, 'a pattern of another database does not count');
sleep 10;
is(scalar(() = lines_on($node, $suppressed_pid)), 0, 'what a pattern matches is not told');
is(scalar(() = lines_on($quiet, $unheeded_pid)), 0, 'with log_verdicts off nothing is');
set_and_reload($quiet, 'pg_leakhunt.log_verdicts', 'on');
wait_until(sub { scalar(() = lines_on($quiet, $unheeded_pid)) == 1 }, 'it can be switched on');

# A statement that runs, and that has not ended after two looks.
my $running = $node->background_psql('postgres');
my $running_pid = session_pid($running);
$running->query_until(qr/begun/, "\\echo begun\nSELECT count(*), pg_sleep(600) FROM (SELECT array_agg(repeat('x', 1000)) a FROM generate_series(1, 100000)) b WHERE array_length(a, 1) > 0;\n");
wait_until(sub { scalar(() = lines_on($node, $running_pid)) == 1 }, 'a statement that holds much is told of');
like((lines_on($node, $running_pid))[0], qr/runs a statement or transaction that holds much memory: \d+ MB.*, the largest part at .* in /, 'with its call site');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($running_pid)");

# Ten a minute.  Where no worker can be started, it is said, and made up for.
set_and_reload($node, 'log_min_messages', 'warning');
my @many = map { $node->background_psql('postgres') } 1 .. 14;
$offset = -s $node->logfile;
my @pids = leak_in(\@many, 'SELECT leak_top(1000, 100)', 40);
my $told_of = sub { scalar(grep { my @lines = lines_on($node, $_, $offset); @lines > 0 } @pids) };
wait_until(sub { slurp_file($node->logfile, $offset) =~ /Further findings are not logged until/ }, 'the tenth in a minute says that it is the last');
sleep 10;
cmp_ok($told_of->(), '<=', 10, 'no more than ten findings are told in a minute');

$_->quit for @many, $session, $suppressed, $told, $unheeded;

# Where all places of workers are taken, that is said once.
my $full = new_server('full', <<'CONF');
pg_leakhunt.sample_interval = '4kB'
max_worker_processes = 1
max_logical_replication_workers = 0
CONF
my $alone = $full->background_psql('postgres');
leak($alone, 'SELECT leak_top(1000, 100)', 60);
wait_until(sub { slurp_file($full->logfile) =~ /WARNING:  pg_leakhunt could not start a worker that logs findings\n.*HINT:  Raise max_worker_processes/ }, 'that no worker can be started is said');
sleep 11;
is(scalar(() = slurp_file($full->logfile) =~ /could not start a worker that logs/g), 1, 'once');
$alone->quit;
$_->stop for $node, $quiet, $full;
done_testing();
