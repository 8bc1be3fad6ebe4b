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

my $conf = "$quick_keeper\npg_leakhunt.sample_interval = '4kB'\nlog_timezone = 'UTC'\n";
my $node = new_server('main', "$conf\nmax_worker_processes = 8\n");
my $quiet = new_server('quiet', "$conf\npg_leakhunt.log_verdicts = off\n");
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

# Let sessions leak side by side, by a statement that each calls so often, and the keeper
# of their server look when they have; returns their pids.  What is over within a moment is
# no leak.
sub leak_in
{
	my ($server, $sessions, $statement, $times) = @_;

	set_and_reload($server, 'pg_leakhunt.keeper_interval' => '10min');
	for (1 .. $times)
	{
		$_->query_safe($statement) for @$sessions;
		select(undef, undef, undef, 0.05);
	}
	set_and_reload($server, 'pg_leakhunt.keeper_interval' => '200ms');
	return map { session_pid($_) } @$sessions;
}

sub leak
{
	my ($server, $session, @call) = @_;

	return (leak_in($server, [$session], @call))[0];
}

my $session = $node->background_psql('postgres');
$session->query_safe("SET application_name = 'shop'");
my $pid = leak($node, $session, 'SELECT remember(1000)', 60);
wait_until(sub { scalar(() = lines_on($node, $pid)) > 0 }, 'a leak is in the log');
my ($line) = lines_on($node, $pid);
like($line, qr/^process $pid leaks memory: \d+ [kM]B.* at leaking_top.* in TopMemoryContext$/m, 'the line says how much, and where');
like($line, qr/DETAIL:  Process: client backend, user ".*", database "postgres", application "shop"\.  .* has not been freed, and it (?:keeps growing|kept growing until .*)\. Averaged over the last \d+ transactions, it grew by /,
	'the detail says who, and why it is a leak');
like($line, qr/  Allocated in remember\(integer\) line 3\./, 'and in which function');
like($line, qr/  Statement: SELECT remember\(1000\)\W*$/m, 'and statement');
like($line, qr/HINT:  Report this to the authors of leaker\.so.*SELECT explanation FROM pg_leakhunt_explain\($pid\) tells more\.$/m, 'the hint says what to do');
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid)"), qr/^Verdict: leak at leaking_top/m, 'which works');

# Once, until it is four times as large.
leak($node, $session, 'SELECT remember(1000)', 60);
my $later = $node->background_psql('postgres');
my $later_pid = leak($node, $later, 'SELECT leak_top(1000, 100)', 60);
wait_until(sub { scalar(() = lines_on($node, $later_pid)) == 1 }, 'a later leak is told');
wait_for_looks($node);
is(scalar(() = lines_on($node, $pid)), 1, 'a leak that has doubled is not told again');
leak($node, $session, 'SELECT remember(1000)', 150);
wait_until(sub { scalar(() = lines_on($node, $pid)) == 2 }, 'one that is four times as large is');

# Suppressions are those of the process' database.
$node->safe_psql('postgres', "INSERT INTO pg_leakhunt_suppressions VALUES ('leaking_in', 'known')");
my $offset = -s $node->logfile;
my $suppressed = $node->background_psql('postgres');
my $suppressed_pid = leak($node, $suppressed, 'SELECT leak_cache(1000, 100)', 60);
my $told = $node->background_psql('plain');
my $told_pid = leak($node, $told, 'SELECT leak_cache(1000, 100)', 60);
wait_until(sub { scalar(() = lines_on($node, $told_pid)) == 1 }, 'a pattern of another database does not count');
wait_for_looks($node);
is(scalar(() = lines_on($node, $suppressed_pid)), 0, 'what a pattern matches is not told');

# Nothing is told with log_verdicts off.  The first look when it is on, after which there is
# none for minutes, is not enough: what ends before the second is no news.
my $unheeded = $quiet->background_psql('postgres');
my $unheeded_pid = leak($quiet, $unheeded, 'SELECT leak_top(1000, 100)', 60);
my $brief = $quiet->background_psql('postgres');
my $brief_pid = leak($quiet, $brief, 'SELECT leak_top(1000, 800)', 15);
wait_for_looks($quiet);
is(scalar(() = lines_on($quiet, $unheeded_pid)), 0, 'with log_verdicts off nothing is');
unlike(slurp_file($quiet->logfile), qr/has looked for findings/, 'and nobody looks');
my $quiet_offset = -s $quiet->logfile;
set_and_reload($quiet, 'pg_leakhunt.keeper_interval' => '10min', 'pg_leakhunt.log_verdicts' => 'on');
wait_until(sub { slurp_file($quiet->logfile, $quiet_offset) =~ /has looked for findings/ }, 'when it is switched on, the keeper looks at once');
# workers are started in their order
$quiet->safe_psql('postgres', 'CREATE TABLE numbers AS SELECT generate_series(1, 100000)');
wait_until(
	sub {
		$quiet->safe_psql('postgres', 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SELECT count(*) FROM numbers');
		return slurp_file($quiet->logfile, $quiet_offset) =~ /starting background worker process "parallel worker/;
	},
	'a worker is started');
unlike(slurp_file($quiet->logfile, $quiet_offset), qr/starting background worker process "pg_leakhunt reporter/, 'nothing is told after the first look');
$brief->quit;
is(problem_at_exit($quiet, $brief_pid), undef, 'a session ends');
set_and_reload($quiet, 'pg_leakhunt.keeper_interval' => '200ms');
wait_until(sub { scalar(() = lines_on($quiet, $unheeded_pid)) == 1 }, 'what stays is told at a later one');
is(scalar(() = lines_on($quiet, $brief_pid)), 0, 'a session that has ended by then is not told of');

# A statement that runs, and that has not ended after two looks.
my $running = $node->background_psql('postgres');
my $running_pid = session_pid($running);
$running->query_until(qr/begun/, "\\echo begun\nSELECT count(*), pg_sleep(600) FROM (SELECT array_agg(repeat('x', 1000)) a FROM generate_series(1, 100000)) b WHERE array_length(a, 1) > 0;\n");
wait_until(sub { scalar(() = lines_on($node, $running_pid)) == 1 }, 'a statement that holds much is told of');
like((lines_on($node, $running_pid))[0], qr/runs a statement or transaction that holds much memory: \d+ MB.*, the largest part at .* in /, 'with its call site');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($running_pid)");

# Ten a minute, of more that are found at the same look.
my @many = map { $node->background_psql('postgres') } 1 .. 14;
$offset = -s $node->logfile;
leak_in($node, \@many, 'SELECT leak_top(1000, 100)', 40);
wait_until(sub { slurp_file($node->logfile, $offset) =~ /Further findings are not logged until/ }, 'the tenth in a minute says that it is the last');
wait_for_looks($node);
my ($until, $afterwards) = slurp_file($node->logfile, $offset) =~ /Further findings are not logged until (\S+ [^.]+)\.(.*)/s;
my @times = $afterwards =~ /^(\S+ \S+ UTC) .*LOG:  process \d+ (?:leaks|keeps|runs|creates|takes|maps) /mg;
is(scalar(grep { ask($node, "SELECT '$_'::timestamptz < '$until'") eq 't' } @times), 0, 'no more than ten findings are told in a minute');

$_->quit for @many, $session, $later, $suppressed, $told, $unheeded;

# Where all places of workers are taken, that is said once.
my $full = new_server('full', "$conf\nmax_worker_processes = 1\nmax_logical_replication_workers = 0\n");
my $alone = $full->background_psql('postgres');
leak($full, $alone, 'SELECT leak_top(1000, 100)', 60);
wait_until(sub { slurp_file($full->logfile) =~ /WARNING:  pg_leakhunt could not start a worker that logs findings\n.*HINT:  Raise max_worker_processes/ }, 'that no worker can be started is said');
wait_for_looks($full);
is(scalar(() = slurp_file($full->logfile) =~ /could not start a worker that logs/g), 1, 'once');
$alone->quit;
$_->stop for $node, $quiet, $full;
done_testing();
