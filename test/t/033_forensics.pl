# What can be known of processes after a crash: which of them was killed, what it
# held and where, and for whom it worked.  Needs processes that are killed, the
# log, and a server that speaks another language.
use strict;
use warnings;

use FindBin;
use IO::Socket::INET;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;

# A time, as text.
my $time = qr/\d+-\d+-\d+ [0-9:.+-]+/;

# A statement whose memory is freed at its end, and which then waits.
my $statement =
  'SELECT count(*), pg_sleep(600) FROM (SELECT DISTINCT g, repeat(md5(g::text), 8) FROM generate_series(1, 400000) g) held';

# Kill -9 a process, and return what the log has said since, up to where the keeper has
# saved the profiles of these.
sub crash
{
	my ($node, $directory, $pid, @pids) = @_;
	my $offset = -s $node->logfile;

	kill 'KILL', $pid;
	wait_until(sub { !grep { -e "/proc/$_" } @pids }, 'all sessions have crashed');
	# a psql that is refused may be gone before it is given its statement, which is fatal there
	wait_until(sub { eval { $node->psql('postgres', 'SELECT 1') == 0 } }, 'the server goes on after a crash');
	wait_until(
		sub {
			my @files = profile_files($directory);
			return !grep { my $of = $_; !grep { /^$of\.\d+\.saved$/ } @files } @pids;
		},
		'the profiles are saved after a crash');
	return slurp_file($node->logfile, $offset);
}

# A session that holds a number of bytes for good, under the name of an application.
sub holding_session
{
	my ($node, $application, $bytes) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SET application_name = '$application'");
	$session->query_safe('SET pg_leakhunt.sample_interval = 1');
	$session->query_safe("SELECT leak_top(1000, $bytes / 1000)");
	return ($session, session_pid($session));
}

my $node = new_server('main', "restart_after_crash = on\npg_leakhunt.dump_min_bytes = '1MB'\nwork_mem = '1GB'\nmax_parallel_workers_per_gather = 0\n");
my $directory = profile_directory($node);
is( ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE died_at IS NOT NULL OR death IS NOT NULL"),
	0, 'processes that live have no death');

# Of three, one is killed in a query.
my ($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
my ($second, $second_pid) = holding_session($node, "na\xc3\xafve", 20_000);
my ($victim, $victim_pid) = holding_session($node, 'worker', 20_000);
$victim->query_safe("SET pg_leakhunt.sample_interval = '16kB'");
$victim->query_until(qr//, "$statement;\n");
wait_until(
	sub {
		ask($node,
			"SELECT coalesce(malloc_bytes, context_bytes) > 100000000 FROM pg_leakhunt_processes WHERE pid = $victim_pid AND counted_at > now() - interval '1 minute'"
		) eq 't';
	},
	'a query holds 100 MB');
wait_until(
	sub { ask($node, "SELECT wait_event FROM pg_stat_activity WHERE pid = $victim_pid") eq 'PgSleep' },
	'a query goes on holding 100 MB');

# It counts once more when it is asked about.
my $history = ask($node, "SELECT count(*), max(bytes) FROM pg_leakhunt_history($victim_pid) WHERE name = 'rss_anon_bytes'");
my $before = process_row($node, $victim_pid);
my $counted = ask($node, "SELECT pg_size_pretty(context_bytes) FROM pg_leakhunt_processes WHERE pid = $victim_pid") . ' in memory contexts';
$counted .= ask($node, "SELECT ', ' || pg_size_pretty(malloc_bytes - context_bytes) FROM pg_leakhunt_processes WHERE pid = $victim_pid") . ' allocated with malloc outside of them'
  if malloc_tells($victim_pid);
my $killed_at = ask($node, 'SELECT now()');
my $log = crash($node, $directory, $victim_pid, $victim_pid, $first_pid, $second_pid);
$_->{run}->kill_kill for $first, $second, $victim;

is( ask($node,
		"SELECT string_agg(pid::text, ' ') FROM pg_leakhunt_processes WHERE death LIKE 'terminated by%'"
	),
	$victim_pid,
	'exactly one process was terminated by a signal');
is(process_row($node, $victim_pid)->{death}, 'terminated by signal 9: Killed', 'the process that was killed has its signal');
is(process_row($node, $_)->{death}, "ended with process $victim_pid", 'a process that went down with the killed one names it')
  for $first_pid, $second_pid;
is( ask($node,
		"SELECT bool_and(died_at BETWEEN '$killed_at' AND now()) AND count(*) >= 3 FROM pg_leakhunt_processes WHERE state = 'crashed'"
	),
	't',
	'the time of death is that of the crash');
is( ask($node,
		"SELECT died_at <= (SELECT min(died_at) FROM pg_leakhunt_processes WHERE death LIKE 'ended%') FROM pg_leakhunt_processes WHERE pid = $victim_pid"
	),
	't',
	'the first to die was the one that was killed');
is(ask($node, "SELECT count(*), max(bytes) FROM pg_leakhunt_history($victim_pid) WHERE name = 'rss_anon_bytes'"),
	$history, 'the history of a killed process stays');
is(process_row($node, $victim_pid)->{$_}, $before->{$_}, "$_ stays as it was last counted")
  for qw(context_bytes malloc_bytes counted_at);
is(process_row($node, $victim_pid)->{rss_anon_bytes}, undef, 'rss_anon_bytes of a dead process are null');

# What is said of it is over.
my $explanation = ask($node, "SELECT explanation FROM pg_leakhunt_explain($victim_pid)") =~ s/^(Statement|Next).*$//mgr;
unlike($explanation, qr/ (?:has|have|is|holds|keeps|belongs|stays|grows)\b/, 'the explanation of a killed process is in the past');
like($explanation, qr/ held /, 'the explanation of a killed process says what it held');

# One line of the log about that one.
my @lines = $log =~ /LOG:  (process \d+ \(.*\) crashed, .*\n.*DETAIL:  .*)/g;
is(scalar @lines, 1, 'the log has one message about the cause of a crash') or diag($log);
my $user = ask($node, 'SELECT current_user');
my $line = $lines[0] // '';
my $size = qr/\d+ (?:bytes|kB|MB)/;
like($line, qr/^process $victim_pid \(client backend\) crashed, terminated by signal 9: Killed; it held \d+ MB(?: \(\+\/- \d+ MB\))?\n.*DETAIL:  It crashed at $time\.  It worked for user "$user", database "postgres", application "worker"\.  /, 'the log tells who crashed, how, and for whom it worked');
my ($held, $part, $site, $context) = $line =~ /it held (\d+) MB.*\n.*  (\d+)% of the sampled memory was allocated at (.*?) in ([^.]+)\./;
cmp_ok($held // 0, '>', 90, 'the log tells what the killed process held');
cmp_ok($part // 0, '>', 33, 'the log tells of most of that at one place');
is($context, ask($node, "SELECT context_name FROM pg_leakhunt_report($victim_pid) ORDER BY live_bytes DESC LIMIT 1"), 'the log names the context with most bytes');
is($site, ask($node, "SELECT site FROM pg_leakhunt_report($victim_pid) ORDER BY live_bytes DESC LIMIT 1"), 'the log names the site with most bytes');
like($site // '', qr/^[A-Za-z]\w+/, 'the log names the function of a site');
like($line, qr/  Last counted at $time: \Q$counted\E, $size of private memory(?: \(pages that were written to\))?\.  /, 'the log has the last count of the killed process');
unlike($line, qr/\d{6} bytes/, 'the log has sizes in units that people read');
my ($hint) = $log =~ /LOG:  process \d+ \(.*\) crashed, .*\n.*DETAIL:  .*\n.*HINT:  (.*)/;
like($hint // '', qr/^Signal 9 often comes from the kernel's OOM killer, /, 'the hint tells who may have killed a process');
is( scalar(() = ask($node, $_) =~ /./g) > 0, 1, "the hint tells of a statement: $_")
  for $hint =~ /(SELECT .*?\))/g;
like($line, qr/  Statement: \Q@{[substr($statement, 0, 60)]}\E/, 'the log has the statement of the killed process');
unlike($log, qr/could not (report|look up)/, 'the log has no trouble with the report of a crash');

# Its dump, although the memory was a query's, and that of another; not of the third,
# which held nothing.
is( ask($node,
		"SELECT string_agg(concat_ws('|', pid, reason, application_name, death, died_at IS NOT NULL), ' ' ORDER BY pid = $victim_pid DESC) FROM pg_leakhunt_dumps"
	),
	"$victim_pid|crash|worker|terminated by signal 9: Killed|t $first_pid|crash|clerk|ended with process $victim_pid|t",
	'dumps tell whose they are, and how those died');
my ($dump) = dump_files($node, $victim_pid);
cmp_ok(scalar(grep { $_->[1] =~ /^[A-Za-z]\w+$/ } names_of(slurp_file($dump))), '>', 0, 'dumps of a crash have names with them');
like(slurp_file(dump_text($dump)), qr/\A--- symbol\n.*^0x[0-9a-f]+ [A-Za-z]\w+/ms, 'texts of a crash have names with them');
my $own_bytes = header_of(slurp_file($dump))->{own_bytes};
is(ask($node, "SELECT bytes FROM pg_leakhunt_history($victim_pid) WHERE name = 'rss_anon_bytes' ORDER BY at DESC LIMIT 1") <= $own_bytes, 1, 'the dump of a crash has the last count of private memory');
my $died_at = ask($node, "SELECT died_at FROM pg_leakhunt_processes WHERE pid = $victim_pid");
my $crash = "crashed at .*, terminated by signal 9: Killed; user &#x22;$user&#x22;, database &#x22;postgres&#x22;, application &#x22;worker&#x22;";
my $name = $dump =~ s{.*/}{}r;
for my $source ($victim_pid, "'$name'")
{
	my $picture = ask($node, "SELECT pg_leakhunt_flamegraph($source)");
	my $comments = ask($node, "SELECT encode(pg_leakhunt_pprof($source), 'escape')");

	like($picture, qr/>$crash</, "the picture of $source tells that it crashed");
	like($picture, qr/objects, $time</, "the picture of $source has a time");
	is( ask($node,
			"SELECT (regexp_match(\$\$$picture\$\$, 'objects, ([^<]*)<'))[1]::timestamptz(0) = '$died_at'::timestamptz(0)"
		),
		't',
		"the picture of $source has the time of death, not of drawing");
	like($comments, qr/crashed at .*, terminated by signal 9: Killed; user "$user"/, "the comments of the pprof of $source tell that it crashed");
}
unlike(
	ask($node, 'SET pg_leakhunt.sample_interval = 1; PREPARE kept AS SELECT 1; SELECT pg_leakhunt_flamegraph(pg_backend_pid())'),
	qr/>crashed/,
	'the picture of a living process tells of no crash');

# What is no whole name in this encoding does no harm.
like(ask($node, "SELECT pg_leakhunt_flamegraph($second_pid)"), qr/application &#x22;na/, 'a name with bytes that are not ASCII can be shown');

# The next start removes the profiles, and dumps stay.
$node->restart;
is(ask($node, "SELECT count(*) FROM pg_leakhunt_dumps WHERE died_at IS NOT NULL"), 2, 'dumps keep the time of death');

# Messages that are hidden tell nothing, but that it died.
set_and_reload($node, log_min_messages => 'panic');
($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
($second, $second_pid) = holding_session($node, 'clerk', 9 * $MB);
crash($node, $directory, $first_pid, $first_pid, $second_pid);
$_->{run}->kill_kill for $first, $second;
is( ask($node, "SELECT count(*), count(death), count(died_at) FROM pg_leakhunt_processes WHERE pid IN ($first_pid, $second_pid)"),
	'2|0|2', 'what nobody could know of a death is null');

# A server that does not go on tells the next one.
$node->append_conf('postgresql.conf', "log_min_messages = warning\nrestart_after_crash = off\n");
$node->restart;
($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
($second, $second_pid) = holding_session($node, 'clerk', 9 * $MB);
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
kill 'ABRT', $first_pid;
wait_until(sub { !-e "/proc/$postmaster" }, 'a server ends after a crash');
$_->{run}->kill_kill for $first, $second;
$node->_update_pid(0);
my $offset = -s $node->logfile;
$node->start;
wait_until(
	sub { 2 == grep { /^($first_pid|$second_pid)\.\d+\.saved$/ } profile_files($directory) },
	'the next server saves the profiles that a server has left');
is(process_row($node, $first_pid)->{death}, 'terminated by signal 6: Aborted', 'the next server knows which process was aborted');
is(process_row($node, $second_pid)->{death}, "ended with process $first_pid", 'the next server knows which process was not aborted');
like(slurp_file($node->logfile, $offset), qr/LOG:  process $first_pid \(client backend\) crashed, .*\n.*DETAIL:  .*\n(?:\t.*\n)*.*HINT:  SELECT /, 'the next server has the crash in its log, and blames no OOM killer');

# As before.
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->restart;

# A server that was killed itself knows nothing of its processes.
($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
$node->stop('immediate');
$first->{run}->kill_kill;
$node->start;
wait_until(sub { grep { /^$first_pid\.\d+\.saved$/ } profile_files($directory) }, 'the next server saves a profile that an immediate stop has left');
is( ask($node, "SELECT count(*), count(death), count(died_at) FROM pg_leakhunt_processes WHERE pid = $first_pid"),
	'1|0|0', 'the next server does not know when a process died by an immediate stop');
like(ask($node, "SELECT pg_leakhunt_flamegraph($first_pid)"), qr/>crashed; user/, 'the picture of a process that died by an immediate stop has no time of death');
($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $in_valgrind = slurp_file("/proc/$postmaster/maps") =~ /vgpreload/;
$node->stop;

# Names that nobody answers for: a server of debug information that only listens.  The
# keeper would wait for it longer than any test does.
SKIP:
{
	skip 'Valgrind would ask it for names itself, and wait', 4 if $in_valgrind;
	my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
	local $ENV{DEBUGINFOD_URLS} = 'http://127.0.0.1:' . $listener->sockport;
	local $ENV{DEBUGINFOD_CACHE_PATH} = $node->basedir . '/debuginfod';
	local $ENV{DEBUGINFOD_TIMEOUT} = 3600;
	local $ENV{PGCTLTIMEOUT} = $PostgreSQL::Test::Utils::timeout_default;

	$node->append_conf('postgresql.conf', "restart_after_crash = on\npg_leakhunt.keeper_interval = '1h'\n");
	$node->start;
	($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
	kill 'KILL', $first_pid;
	wait_until(sub { grep { /^$first_pid\.\d+\.(tried|saved)$/ } profile_files($directory) },
		'the keeper makes a dump where nobody answers for names');
	$first->{run}->kill_kill;
	ok($node->stop('fast', fail_ok => 1), 'a stop of the server does not wait for names')
	  or $node->stop('immediate');
	$node->append_conf('postgresql.conf', "pg_leakhunt.keeper_interval = '10s'\n");
	is(scalar(() = dump_files($node, $first_pid)), 1, 'a dump of a crash does not wait for names');
	like(slurp_file($node->logfile), qr/LOG:  process $first_pid \(client backend\) crashed, /, 'the message about a crash does not wait for names');
}

# A server that speaks another language, if the machine has one.
SKIP:
{
	my $help = `LANGUAGE=de LC_ALL=C.UTF-8 postgres --help 2>&1`;

	skip 'PostgreSQL speaks no German here', 6 if $help !~ /Aufruf/;
	$ENV{LANGUAGE} = 'de';
	$node->append_conf('postgresql.conf', "log_min_messages = warning\nlc_messages = 'C.UTF-8'\n");
	$node->start;
	($first, $first_pid) = holding_session($node, 'clerk', 9 * $MB);
	($second, $second_pid) = holding_session($node, 'clerk', 9 * $MB);
	$log = crash($node, $directory, $first_pid, $first_pid, $second_pid);
	$_->{run}->kill_kill for $first, $second;
	like($log, qr/\(PID $first_pid\) wurde von Signal 9 beendet/, 'a server that speaks German reports the signal in German');
	is(process_row($node, $first_pid)->{death} =~ s/: .*//r, 'terminated by signal 9', 'the signal is understood in German');
	is(process_row($node, $second_pid)->{death}, "ended with process $first_pid", 'the processes that ended with the killed one are understood in German');
	$node->stop;
}
done_testing();
