# Many sessions at once, at interval 1, that do all kinds of things and check
# their own results, while others read, request and cancel; and at the end all
# that is live is accounted for.  Needs many processes for some time: LOAD_SECONDS
# and LOAD_SESSIONS, which test/load sets.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 8;
my $sessions = $ENV{LOAD_SESSIONS} || 20;
my $workload = "$FindBin::RealBin/../workload";

my $node = new_server('main', <<"CONF");
max_connections = @{[$sessions + 20]}
max_worker_processes = 16
max_parallel_workers = 16
max_locks_per_transaction = 256
log_statement = none
log_line_prefix = '%a|%p '
pg_leakhunt.sample_interval = 1
pg_leakhunt.scope = all
pg_leakhunt.max_profile_size = 32MB
pg_leakhunt.dump_growth = 4MB
pg_leakhunt.dump_keep = 50
CONF
define_corner_cases($node);
$node->command_ok(
	[
		'pgbench', '-i', '-q', '-s', 1 + int($sessions / 20),
		'-d', $node->connstr('postgres')
	],
	'pgbench tables');
$node->command_ok(
	[ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-f', "$workload/setup.sql" ],
	'other tables');

my @running;
my $until = time + $seconds;
my $folder = $node->basedir;

# pgbench with that share of the sessions.  It gives up at the first error, and
# then fails.
sub start_pgbench
{
	my ($name, $share, @arguments) = @_;
	my $clients = int($sessions * $share) || 1;
	my $output = '';

	local $ENV{PGAPPNAME} = $name;
	push @running,
	  [
		"pgbench, $name",
		\$output,
		IPC::Run::start(
			[
				'pgbench', '-n', '-c', $clients, '-j', $clients > 4 ? 4 : $clients,
				'-T', $seconds, @arguments
			],
			'>&', \$output)
	  ];
}

# So many sessions that repeat a script of psql's.
sub start_sessions
{
	my ($kind, $number, @folder) = @_;

	return
	  map { IPC::Run::start([ "$workload/session", $kind, $until, @folder ], '<', '/dev/null') }
	  1 .. $number || 1;
}

$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
my @mix = ('-b', 'tpcb-like@30', '-b', 'select-only@30',
	map { ('-f', "$workload/$_") } 'ddl.sql@2', 'subtransactions.sql@5',
	'cursors.sql@5', 'copy.sql@2', 'parallel.sql@2', 'prepared.sql@5',
	'notify.sql@5', 'freed.sql@5');
start_pgbench('mix', 0.4, @mix);
start_pgbench('prepared', 0.2, '-M', 'prepared', @mix);
start_pgbench('short', 0.05, '-C', '-b', 'tpcb-like', '-b', 'select-only');
my @exact = start_sessions('exact', int($sessions * 0.2), $folder);
my @disturbed = start_sessions('disturbed', int($sessions * 0.12), $folder);
my @others = start_sessions('requester', 2);
# what takes longer than a round may last is canceled
$ENV{PGOPTIONS} = '-c statement_timeout=' . int($seconds / 4) . 's';
push @others, start_sessions('reader', 4);
delete $ENV{PGOPTIONS};

# When all who disturb others are done, the sessions with something to account for
# say what it is, and stay as they are.
for my $pgbench (@running)
{
	my ($name, $output, $run) = @$pgbench;
	ok($run->finish, $name) or diag($$output);
	note($$output);
}
ok($_->finish, 'a reader or requester ends well') for @others;
append_to_file("$folder/quiet", '');
# whoever asks from now on is not sampled so often
$ENV{PGOPTIONS} = '-c pg_leakhunt.sample_interval=512kB';
my $finished = @exact + @disturbed;
ok( $node->poll_query_until(
		'postgres', qq{
		SELECT count(*) = $finished FROM pg_stat_activity
		WHERE state = 'idle' AND query LIKE '%''finished'';'
			AND application_name IN ('exact', 'disturbed')}),
	'all sessions with something to account for have finished');

is( ask(
		$node, q{
		SELECT (SELECT sum(abalance) FROM pgbench_accounts) = sum(delta),
			(SELECT sum(tbalance) FROM pgbench_tellers) = sum(delta),
			(SELECT sum(bbalance) FROM pgbench_branches) = sum(delta)
		FROM pgbench_history}),
	't|t|t',
	'the balances of pgbench agree');

# The figures of each session that is still there, without the other sessions.
my $finished_sessions = q{
	SELECT pid, application_name FROM pg_stat_activity
	WHERE state = 'idle' AND query LIKE '%''finished'';'};
my $differences = qq{
	SELECT s.application_name, p.pid, p.live_bytes, sum(r.live_bytes),
		n.live_count, sum(r.live_count), n.samples_live, sum(r.samples)
	FROM ($finished_sessions) s JOIN pg_leakhunt_processes p USING (pid) JOIN pg_leakhunt_sampling n USING (pid)
		, pg_leakhunt_report(p.pid, false) r
	GROUP BY 1, 2, 3, 5, 7
	HAVING (p.live_bytes, n.live_count, n.samples_live) <>
		(sum(r.live_bytes), sum(r.live_count), sum(r.samples))};

# an idle session empties its caches, if others have changed much, between the one
# reading and the other
wait_until(sub { ask($node, $differences) eq '' }, 'call sites add up to their process')
  or diag(ask($node, $differences));
is( ask(
		$node, qq{
		SELECT application_name, r.*
		FROM ($finished_sessions) s, pg_leakhunt_report(s.pid, false) r
		WHERE lifetime <> 'session' AND live_bytes <> 0
			AND NOT (context_name IN ('MessageContext', 'RowDescriptionContext')
				AND (live_bytes = 1024 OR application_name = 'disturbed' AND samples = 1))}),
	'',
	'nothing is left of statements and transactions but two buffers for the next one');
is( ask(
		$node, qq{
		SELECT pid, samples_dropped, sample_interval, scope, live_count, samples_live
		FROM ($finished_sessions) s JOIN pg_leakhunt_sampling USING (pid)
		WHERE application_name = 'exact'
			AND (samples_dropped, sample_interval, scope, live_count) IS DISTINCT FROM
				(0, 1, 'all', samples_live)}),
	'',
	'the exact sessions have lost no sample');
is( ask(
		$node, qq{
		WITH reported AS MATERIALIZED (
			SELECT r.pid, live_bytes, live_count, stack
			FROM ($finished_sessions) s, pg_leakhunt_report(s.pid) r
			WHERE application_name = 'exact' AND live_bytes > 0)
		SELECT leaked.*, found.*
		FROM ($finished_sessions) s JOIN leaked USING (pid)
			LEFT JOIN (
				SELECT pid, function, sum(live_bytes), sum(live_count)
				FROM reported, LATERAL (
					SELECT function FROM unnest(functions(stack)) function
					WHERE function LIKE 'leak\\_%' LIMIT 1) leak
				GROUP BY pid, function) found (pid, function, live_bytes, live_count)
			USING (pid, function)
		WHERE application_name = 'exact'
			AND (live_bytes, live_count) IS DISTINCT FROM (bytes, chunks)}),
	'',
	'what exact sessions have leaked is live, to the byte');

# A chunk is smaller than what its context uses for it.  TopMemoryContext has
# chunks of the postmaster's, too.  Requests change the interval of disturbed
# sessions, so that their figures are estimates.
my $contexts = qq{
	($finished_sessions) s JOIN used USING (pid) JOIN (
		SELECT r.pid, context_name, sum(live_bytes) AS live_bytes
		FROM ($finished_sessions) s, pg_leakhunt_report(s.pid, false) r
		WHERE lifetime = 'session' GROUP BY r.pid, context_name) r
	USING (pid, context_name)};
is( ask($node, "SELECT * FROM $contexts WHERE live_bytes > bytes AND application_name <> 'disturbed'"),
	'',
	'no context has more live bytes than it uses');
is( ask(
		$node, qq{
		SELECT pid, sum(live_bytes), sum(bytes) FROM $contexts
		WHERE context_name NOT IN ('TopMemoryContext', 'named') AND context_name NOT LIKE 'leaker%'
		GROUP BY pid, application_name
		HAVING application_name = 'exact' AND sum(live_bytes) < 0.5 * sum(bytes)}),
	'',
	'at least half of what contexts of an exact session use is live');
note(ask($node, "SELECT application_name, pid, profile_bytes, sites, samples_live, samples_taken, overhead_bytes FROM ($finished_sessions) s JOIN pg_leakhunt_sampling USING (pid)"));
note(ask($node, 'SELECT application_name, count(*), min(chunks), max(chunks) FROM pg_stat_activity JOIN leaked USING (pid) WHERE function = \'leak_top\' GROUP BY 1'));

append_to_file("$folder/over", '');
ok($_->finish, 'a session ends well') for @exact, @disturbed;
is(ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'"),
	0, 'no process has left a crashed profile');
my $directory = profile_directory($node);

# psql is gone before its session has read that it goes
wait_until(sub { sessions_left($node) == 0 }, 'all sessions have ended');
$node->stop;
is_gone($directory, 'the directory of profiles is gone with the server');

# What may be in the log, by session.
my $gone = qr/PID \d+ is not a|has not loaded|no baseline of process|has no profile|file .* No such file/;
my %expected = (
	'exact' => qr/division by zero/,
	'disturbed' => qr/division by zero|transaction is aborted|"no_such_table" does not exist|violates unique|out of memory|invalid memory alloc request size|canceling statement|no transaction in progress|can only be used in transaction blocks|"open" does not exist|savepoint "one" does not exist/,
	'reader' => qr/canceling statement due to statement timeout|$gone/,
	# other profiles leave no room for a baseline
	'requester' => qr{No space left|$gone},
	# workers, which have the name of no application: a parallel one of a disturbed
	# session is canceled like the session
	'' => qr/canceling autovacuum task|skipping vacuum of|canceling statement due to user request/,);
my $log = slurp_file($node->logfile);
my %unexpected;
# The statistics of contexts that follow "out of memory" indent by writes of their own,
# after which another process may write its line.
while ($log =~ /^ *([^|\n]*)\|\d+ ((?:WARNING|ERROR|FATAL|PANIC):  .*)/mg)
{
	my ($session, $message) = ($1, $2);

	# a parallel worker whose leader is canceled, and perhaps gone already
	next if $message =~ /terminating background worker|parallel worker|could not map dynamic shared memory|could not attach to dynamic shared area/;
	next if $expected{$session} && $message =~ $expected{$session};
	$unexpected{"$session: $message" =~ s/\d+/N/gr}++;
}
is(join("\n", map { "$unexpected{$_} of $_" } sort keys %unexpected),
	'', 'the log has no unexpected error or warning');
unlike($log, qr/^.*(PANIC|TRAP|terminated by signal|problem in |write past chunk).*/m,
	'no process has crashed, and no context is damaged');
done_testing();
