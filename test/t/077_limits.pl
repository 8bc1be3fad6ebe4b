# Memory limits: a statement beyond one ends with "out of memory" and nobody else notices,
# an idle session that keeps too much is ended, and processes that are no sessions are
# left alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "wal_level = logical\nmax_wal_senders = 2\nmax_replication_slots = 2\nautovacuum_naptime = 1\npg_leakhunt.process_memory_limit = '60MB'\n");
my $array = "SELECT array_length(array_agg(repeat('x', 1000) || g), 1) FROM generate_series(1, 300000) g";

# The lines of the log on limits, and what follows one up to its hint.
sub lines_of
{
	my ($server) = @_;
	return slurp_file($server->logfile) =~ /LOG:  ((?:process|the server) .*has reached .*\n.*DETAIL:.*\n(?:\t.*\n)*(?:.*HINT:.*\n)?)/g;
}
sub result_of
{
	my ($session, $sql) = @_;
	$session->query($sql);
	my $result = $session->{stderr};
	$session->{stderr} = '';
	return $result;
}
my $set = sub { $_[0]->query_safe("SET pg_leakhunt.limit_action = '$_[1]'") };

# to log it
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = session_pid($session);
is($session->query_safe($array), 300_000, 'with limit_action log, a statement goes on beyond the limit');
my @lines = lines_of($node);
is(scalar @lines, 4, 'it is told when it reaches the limit, and each time it has doubled');
like($lines[0], qr/^process $pid has reached pg_leakhunt\.process_memory_limit: it has \d+ MB of 60 MB\n/, 'the line says who, how much, and of which limit');
like($lines[0], qr/DETAIL:  Process: client backend, user "\w+", database "postgres", application ".*"\.  Nothing is done about it, since pg_leakhunt\.limit_action is "log"\.  The allocation was of \d+ bytes in context "\w+"\./, 'who it is, what comes of it, and of which allocation');
like($lines[0], qr/In its memory contexts are \d+ MB \(estimated from samples\), \d+ MB of it by array_agg_transfn in ExprContext\.  Statement: SELECT array_length/, 'what holds it, and the statement');
my ($file) = $lines[0] =~ /pg_leakhunt_report\('(.*?)'\)/;
is(ask($node, "SELECT context_name FROM pg_leakhunt_report('$file') ORDER BY live_bytes DESC LIMIT 1"), 'ExprContext', 'the dump file shows the same');
is(ask($node, "SELECT reason FROM pg_leakhunt_dumps WHERE file = '$file'"), 'limit', 'and says why it was written');
my $row = process_row($node, $pid);
is("$row->{limit_bytes} $row->{limit_hits}", 60 * 1024 * 1024 . ' 4', 'the process shows its limit, and how often it was reached');
is(ask($node, "SELECT value FROM pg_leakhunt_metrics WHERE name = 'limit_hits'"), 4, 'and so do metrics');

# to end a statement
$set->($session, 'error');
like(result_of($session, $array), qr/ERROR:  out of memory\nDETAIL:  Failed on request of size \d+/, 'with error, it ends');
is($session->query_safe('SELECT pg_backend_pid()'), $pid, 'and the session lives');
cmp_ok(process_row($node, $pid)->{rss_anon_bytes}, '<', 60 << 20, 'with less than its limit');
is($session->query_safe(q{DO $$ BEGIN FOR i IN 1 .. 3 LOOP BEGIN PERFORM array_agg(repeat('x', 1000) || g) FROM generate_series(1, 300000) g;
	RAISE EXCEPTION 'there was room'; EXCEPTION WHEN out_of_memory THEN NULL; END; END LOOP; END $$; SELECT 'caught'}), 'caught', 'a statement that catches the error gets it each time');
# the handler copies the error, with the statement in its context, before it frees anything
is($session->query_safe(q{SET pg_leakhunt.sample_interval = '64kB'; DO $$ BEGIN FOR i IN 1 .. 10 LOOP BEGIN
	EXECUTE 'SELECT array_agg(repeat(''x'', 1000) || g) FROM generate_series(1, 300000) g --' || repeat('x', 20000);
	RAISE EXCEPTION 'there was room'; EXCEPTION WHEN out_of_memory THEN NULL; END; END LOOP; END $$; RESET pg_leakhunt.sample_interval; SELECT 'handled'}), 'handled', 'and memory to handle it');
is($session->query_safe("BEGIN; CREATE TABLE kept (a int); INSERT INTO kept VALUES (1); SAVEPOINT s") // '', '', 'before a savepoint');
like(result_of($session, $array), qr/out of memory/, 'and behind it');
is($session->query_safe('ROLLBACK TO s; COMMIT; SELECT count(*) FROM kept'), 1, 'the transaction before it is kept');
is($session->query_safe(q{SELECT length(repeat('y', 10000000))}), 10_000_000, 'what fits is left alone');
like(result_of($session, q{SELECT length(repeat('y', 80000000))}), qr/ERROR:  out of memory\nDETAIL:  Failed on request of size 800000\d\d/, 'a large allocation fails before it is made');
like(result_of($session, "SET work_mem = '1GB'; SELECT count(*) FROM (SELECT g, repeat('y', 100) FROM generate_series(1, 2000000) g ORDER BY 2, 1) s"), qr/out of memory/, 'a sort ends, too');
like(result_of($session, "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; CREATE TABLE wide AS SELECT g, repeat('z', 500) t FROM generate_series(1, 50000) g; ANALYZE wide; SELECT max(length(a::text)) FROM (SELECT g % 2, array_agg(t || t || t) a FROM wide GROUP BY 1) s"), qr/out of memory|^$/, 'a parallel query ends, or has room');
is($session->query_safe('SELECT 1'), 1, 'the session lives on after all that');
ok((grep { /Further such lines are not logged until/ } lines_of($node)) || scalar(lines_of($node)) <= 10, 'no more than ten are told in a minute');
$session->query_safe('BEGIN');
$session->query_safe("SET pg_leakhunt.process_memory_limit = 0");
is($session->query_safe($array), 300_000, 'without a limit the same goes through');
$session->query_safe('ROLLBACK');

# a buffer of 16 MB that grows to 32 MB adds 16
my $growing = $node->background_psql('postgres', on_error_stop => 0);
my $has = process_row($node, session_pid($growing))->{rss_anon_bytes} >> 20;
$growing->query_safe('SET pg_leakhunt.limit_action = error');
$growing->query_safe("SET pg_leakhunt.process_memory_limit = '" . ($has + 40) . "MB'");
is($growing->query_safe(q{SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 17500)}), 17_500_000, 'a chunk that grows counts by what it adds');
like(result_of($growing, q{SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 34000)}), qr/ERROR:  out of memory\nDETAIL:  Failed on request of size 67108864/, 'but that counts');
$growing->quit;

# who may set it, and for whom
$node->safe_psql('postgres', "CREATE ROLE clerk LOGIN; CREATE ROLE analyst LOGIN; ALTER ROLE analyst SET pg_leakhunt.process_memory_limit = '1GB'");
for my $setting ("process_memory_limit = 0", "limit_action = log")
{
	like(($node->psql('postgres', "SET pg_leakhunt.$setting", extra_params => [ '-U', 'clerk' ]))[2], qr/permission denied/, "a role can't set $setting");
}
is(($node->psql('postgres', 'SHOW pg_leakhunt.process_memory_limit', extra_params => [ '-U', 'analyst' ]))[1], '1GB', 'but it can be given another limit');

# to end a session
my $keeping = $node->background_psql('postgres', on_error_stop => 0);
my $keeping_pid = session_pid($keeping);
$set->($keeping, 'terminate');
is($keeping->query_safe("BEGIN; SELECT length(repeat('y', 10000000))") + 0, 10_000_000, 'with terminate, what fits is left alone');
# what lasts as long as the session is never refused, so that it is beyond the limit by 10 MB:
# a statement that fails at the limit may leave a little less
$keeping->query('COMMIT; SELECT leak_top(1000, 65000)');
wait_until(sub { ask($node, "SELECT count(*) FROM pg_stat_activity WHERE pid = $keeping_pid") == 0 }, 'a session that keeps more is ended when it is idle');
like(slurp_file($node->logfile), qr/process $keeping_pid has reached .*\n.*Its session is ended, as it is idle and an error would free nothing|Further such lines are not logged/, 'as the log says');
like(slurp_file($node->logfile), qr/\[$keeping_pid\].* FATAL:  terminating connection due to administrator command/, 'it is ended as others are');

# those that are no sessions: a WAL sender that decodes 40 MB, and an ANALYZE of 25 MB
set_and_reload($node, 'pg_leakhunt.process_memory_limit' => '16MB');
my $unlimited = sub { $node->safe_psql('postgres', "SET pg_leakhunt.process_memory_limit = 0; $_[0]") };
$unlimited->("SELECT pg_create_logical_replication_slot('slot', 'test_decoding')");
$unlimited->("CREATE TABLE sampled (t text); ALTER TABLE sampled ALTER t SET STATISTICS 10000; INSERT INTO sampled SELECT g || repeat('z', 500) FROM generate_series(1, 50000) g");
set_and_reload($node, 'pg_leakhunt.limit_action' => 'error');
my $stop = $unlimited->('SELECT pg_current_wal_lsn()');
$node->command_ok([ 'pg_recvlogical', '-d', $node->connstr('postgres'), '-S', 'slot', '--start', '-f', '/dev/null', '--no-loop', "--endpos=$stop" ], 'a WAL sender is left alone');
wait_until(sub { $unlimited->("SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'sampled' AND autoanalyze_count > 0") == 1 }, 'so is autovacuum');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');

# A limit is switched off by itself only.
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
my $unsampled = $node->background_psql('postgres', on_error_stop => 0);
$set->($unsampled, 'error');
like(result_of($unsampled, $array), qr/ERROR:  out of memory/, 'a limit holds where nothing is sampled');
$unsampled->quit;
$node->stop;

# All processes together: the statement that holds most ends, and others go on.
my $server = new_server('together', "pg_leakhunt.keeper_interval = '200ms'\npg_leakhunt.server_memory_limit = '200MB'\npg_leakhunt.limit_action = error\n");
my $modest = $server->background_psql('postgres', on_error_stop => 0);
my $modest_pid = session_pid($modest);
$modest->query_safe("SELECT length(repeat('y', 30000000))");
my $greedy = $server->background_psql('postgres', on_error_stop => 0);
my $greedy_pid = session_pid($greedy);
like(result_of($greedy, q{DO $$ DECLARE a text[]; BEGIN FOR i IN 1 .. 1500 LOOP a := a || array_fill(repeat('x', 3000) || i, ARRAY[100]); PERFORM pg_sleep(0.005); END LOOP; END $$}), qr/out of memory/, 'the statement that holds most of the server ends');
my ($line) = grep { /^the server/ } lines_of($server);
like($line, qr/^the server has reached pg_leakhunt\.server_memory_limit \(200 MB\): process $greedy_pid has \d+ MB\n/, 'the log says which, and of which limit');
is($modest->query_safe('SELECT pg_backend_pid()'), $modest_pid, 'another session goes on');
is(ask($server, "SELECT value FROM pg_leakhunt_metrics WHERE name = 'server_limit_bytes'"), 200 << 20, 'metrics have the limit');

# Nobody can act; then an idle session can.
set_and_reload($server, 'pg_leakhunt.limit_action' => 'log');
$greedy->query_safe(q{DO $$ BEGIN FOR i IN 1 .. 15000 LOOP EXECUTE format('PREPARE p%s AS SELECT * FROM pg_class WHERE oid = %s', i, i); END LOOP; END $$});
wait_until(sub { (grep { /^the server has reached pg_leakhunt\.server_memory_limit: \d+ processes have \d+ MB of 200 MB\n.*Process $greedy_pid has most, \d+ MB\.  No session can act/ } lines_of($server)) > 0 }, 'that no session can act is logged');
is($greedy->query_safe('SELECT pg_backend_pid()'), $greedy_pid, 'and nothing is done');
set_and_reload($server, 'pg_leakhunt.limit_action' => 'terminate');
$_->query_safe('SELECT count(*) FROM pg_class') for $greedy, $modest;
wait_until(sub { ask($server, "SELECT count(*) FROM pg_stat_activity WHERE pid = $greedy_pid") == 0 }, 'the idle session that has most is ended');
is($modest->query_safe('SELECT pg_backend_pid()'), $modest_pid, 'and the other one is not');

# Of a transaction that failed the keeper knows what it held last, which no end of a
# statement frees any more: it is the session that is to end.
set_and_reload($server, 'pg_leakhunt.server_memory_limit' => '10GB');
my $failed = $server->background_psql('postgres', on_error_stop => 0);
my $failed_pid = session_pid($failed);
$failed->query_safe(q{SET work_mem = '200MB'; BEGIN; DECLARE c CURSOR FOR SELECT repeat('x', 500) || g FROM generate_series(1, 100000) g ORDER BY 1 DESC; FETCH c});
$failed->query_safe(q{DO $$ BEGIN FOR i IN 1 .. 15000 LOOP EXECUTE format('PREPARE p%s AS SELECT * FROM pg_class WHERE oid = %s', i, i); END LOOP; END $$});
$failed->query_safe('ROLLBACK');
set_and_reload($server, 'pg_leakhunt.server_memory_limit' => '200MB');
wait_until(sub { ask($server, "SELECT count(*) FROM pg_stat_activity WHERE pid = $failed_pid") == 0 }, 'its session is ended');
$server->stop;

# Instead of the OOM killer.
SKIP:
{
	skip "no death for want of memory: $ENV{NO_OOM_CGROUP}", 8 if !$ENV{LIMITED_CGROUP};
	my $grouped = new_server('grouped', "shared_buffers = '16MB'\nmax_connections = 70\nrestart_after_crash = on\npg_leakhunt.process_memory_limit = '200MB'\npg_leakhunt.limit_action = error\n");
	my $others = sub { ask($grouped, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'other'") };
	my ($postmaster) = slurp_file($grouped->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $huge = "SELECT array_length(array_agg(repeat('x', 1000) || g), 1) FROM generate_series(1, 1500000) g";

	append_to_file("$ENV{LIMITED_CGROUP}/cgroup.procs", "$postmaster\n");
	$ENV{PGAPPNAME} = 'other';
	my @others = map { $grouped->background_psql('postgres', on_error_stop => 0) } 1 .. 50;
	delete $ENV{PGAPPNAME};
	my $limited = $grouped->background_psql('postgres', on_error_stop => 0);
	my $limited_pid = session_pid($limited);
	like(result_of($limited, $huge), qr/ERROR:  out of memory/, 'in 512 MB, a statement of 1.5 GB ends with an error');
	is($limited->query_safe('SELECT pg_backend_pid()'), $limited_pid, 'its session lives');
	is($others->(), 50, 'and so do fifty others');
	like((lines_of($grouped))[0], qr/^process $limited_pid has reached .* of 200 MB\n.*array_agg_transfn/, 'the log says who, and what held most');
	my $account = ask($grouped, 'SELECT explanation FROM pg_leakhunt_explain() WHERE pid IS NULL');
	my ($used, $parts) = $account =~ /^The server's control group uses (\d+) MB: (.*?)\. Its limit is 512 MB\./m;
	my $sum = 0;
	$sum += $2 eq 'kB' ? $1 / 1024 : $1 while ($parts // '') =~ /(\d+) (kB|MB)/g;
	cmp_ok($used // 0, '>', 50, 'what its control group uses is told, and its limit');
	cmp_ok(abs($sum - ($used // 0)), '<=', 10, 'its parts add up to that');
	set_and_reload($grouped, 'pg_leakhunt.process_memory_limit' => '0');
	eval { $limited->query($huge) };
	wait_until(sub { slurp_file($grouped->logfile) =~ /server process \(PID $limited_pid\) was terminated by signal 9/ }, 'without a limit the kernel kills it');
	wait_until(sub { (eval { ($grouped->psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'other'"))[1] } // '') eq '0' }, 'and the server ends all sessions');
	$grouped->stop;
}
done_testing;
