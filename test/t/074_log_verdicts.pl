# A finding that nobody asks for is in the server's log, told by a worker of the process'
# database, where there is a place for one.  When it is told, how often and in which words
# is in scenarios/log, which need no server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = "$quick_keeper\npg_leakhunt.sample_interval = '4kB'\nlog_timezone = 'UTC'\n";
my $node = new_server('main', "$conf\nmax_worker_processes = 8\n");
my $quiet = new_server('quiet', "$conf\npg_leakhunt.log = exits\n");
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

	return $log =~ /LOG:  (process $pid (?:leaks|has lost|keeps|runs|creates|takes|maps) .*\n(?:.*(?:DETAIL|HINT):  .*\n)*)/g;
}

# Let a session leak by a statement that it calls so often, and the keeper of its server look
# when it has; returns its PID.  What is over within a moment is no leak.
sub leak
{
	my ($server, $session, $statement, $times) = @_;

	set_and_reload($server, 'pg_leakhunt.keeper_interval' => '10min');
	for (1 .. $times)
	{
		$session->query_safe($statement);
		select(undef, undef, undef, 0.05);
	}
	set_and_reload($server, 'pg_leakhunt.keeper_interval' => '200ms');
	return session_pid($session);
}

my $session = $node->background_psql('postgres');
$session->query_safe("SET application_name = 'shop'");
my $pid = leak($node, $session, 'SELECT remember(1000)', 60);
wait_until(sub { scalar(() = lines_on($node, $pid)) > 0 }, 'a leak is in the log');
my ($line) = lines_on($node, $pid);
like($line, qr/^process $pid leaks memory: \d+ [kM]B.* at leaking_top.* in TopMemoryContext$/m, 'the line says how much, and where');
like($line, qr/DETAIL:  Process: client backend, user ".*", database "postgres", application "shop"\.  .* has not been freed, and it (?:keeps growing|kept growing until .*)\. (?:Nothing points to .*: no code can use it or free it\. )?It grew by \d+ kB per transaction over the last \d+ transactions, /,
	'the detail says who, and why it is a leak');
like($line, qr/  Allocated in remember\(integer\) line 3\./, 'and in which function');
like($line, qr/  Statement: SELECT remember\(1000\)\W*$/m, 'and statement');
like($line, qr/HINT:  Report this to the authors of leaker\.so.*SELECT explanation FROM pg_leakhunt_explain\($pid\) tells more\.$/m, 'the hint says what to do');
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid)"), qr/^Verdict: leak at leaking_top/m, 'which works');

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

# Nothing is told without findings in pg_leakhunt.log, until it has them.
my $unheeded = $quiet->background_psql('postgres');
my $unheeded_pid = leak($quiet, $unheeded, 'SELECT leak_top(1000, 100)', 60);
wait_for_looks($quiet);
is(scalar(() = lines_on($quiet, $unheeded_pid)), 0, 'without findings in pg_leakhunt.log nothing is');
unlike(slurp_file($quiet->logfile), qr/has looked for findings/, 'and nobody looks');
set_and_reload($quiet, 'pg_leakhunt.log' => 'findings');
wait_until(sub { scalar(() = lines_on($quiet, $unheeded_pid)) == 1 }, 'what stays is told when it is switched on');
$_->quit for $session, $suppressed, $told, $unheeded;

# Where all places of workers are taken, that is said once.
my $full = new_server('full', "$conf\nmax_worker_processes = 1\nmax_logical_replication_workers = 0\n");
my $alone = $full->background_psql('postgres');
leak($full, $alone, 'SELECT leak_top(1000, 100)', 60);
wait_until(sub { slurp_file($full->logfile) =~ /WARNING:  pg_leakhunt could not start a worker that logs findings\n.*HINT:  Raise max_worker_processes/ }, 'that no worker can be started is said');
wait_for_looks($full);
is(scalar(() = slurp_file($full->logfile) =~ /could not start a worker that logs/g), 1, 'once');
$alone->quit;

# The system's clock is set back by a day between the look that sees a leak first and the one that
# tells it.
my $faults = Faults->new('clock');
my $jumping;
{
	local %ENV = (%ENV, $faults->environment);
	$jumping = new_server('jumping', "$conf\npg_leakhunt.keeper_interval = '10min'\n");
}
my $leaking = $jumping->background_psql('postgres');
for (1 .. 60)
{
	$leaking->query_safe('SELECT leak_top(1000, 100)');
	select(undef, undef, undef, 0.05);
}
my $looked_from = -s $jumping->logfile;
set_and_reload($jumping, 'pg_leakhunt.keeper_interval' => '5s');
wait_until(sub { slurp_file($jumping->logfile, $looked_from) =~ /has looked for findings/ }, 'the keeper looks at a leak');
$faults->set_clock(-86400);
my $leaking_pid = session_pid($leaking);
wait_until(sub { scalar(() = lines_on($jumping, $leaking_pid)) == 1 }, 'and tells it, although the clock is set back');
$leaking->quit;
$_->stop for $node, $quiet, $full, $jumping;
done_testing();
