# No new process can be had: not for the symbol reader, not for sessions, not for the
# keeper.  Needs a server whose limit of processes can be lowered while it runs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('prlimit');

my $node = new_server('main', "pg_leakhunt.sample_interval = 1\nrestart_after_crash = on\n");
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my ($many) = slurp_file('/proc/self/limits') =~ /^Max processes +(\d+|unlimited)/m;
my $work = 'SELECT leak_top(64, 1000), allocate_in_balance(100, 1000)';

# Let no process of the server have another one, or let them again.  The limit is inherited
# by sessions that begin later, so it is that of these processes.  Root has no limit.
plan skip_all => 'root may have as many processes as it likes' if $< == 0;
sub limit_processes
{
	my ($number, @pids) = @_;

	system_or_bail('prlimit', '--pid', $_, "--nproc=$number:") for @pids;
	return;
}

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = session_pid($session);
my $stays = $node->background_psql('postgres', on_error_stop => 0);

# the symbol reader
$session->query_safe($work);
limit_processes(1, $pid);
my $rows = $session->query("SELECT count(*), sum(live_bytes) FILTER (WHERE array_to_string(stack, ' ') ~ 'leaker') FROM pg_leakhunt_report($pid)");
like($session->{stderr}, qr/WARNING:  could not start a process to read symbols: Resource temporarily unavailable/,
	'a session that gets no process says that it has no names');
like($rows, qr/^\d+\|64000$/, 'its report is whole, without names');
$session->{stderr} = '';
$session->query('SELECT count(*) FROM pg_leakhunt_suspects; SELECT length(pg_leakhunt_flamegraph(pg_backend_pid()))');
unlike($session->{stderr}, qr/ERROR/, 'the other views work without names, too');
$session->{stderr} = '';
limit_processes($many, $pid);
is($session->query("SELECT count(*) FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'leaking_top'"),
	1, 'there are names as soon as there is a process');

# sessions: the postmaster forks nothing
limit_processes(1, $postmaster);
for (1 .. 20)
{
	my ($stdout, $stderr) = ('', '');

	$node->psql('postgres', 'SELECT 1', stdout => \$stdout, stderr => \$stderr);
	next if $stderr =~ /could not fork new process for connection/;
	fail("no session begins: $stdout$stderr");
	last;
}
is($stays->query_safe(q{SELECT count(*) > 0 FROM pg_leakhunt_processes WHERE backend_type = 'postmaster' AND state <> 'crashed'}),
	't', 'sessions that are there see the postmaster');

# The keeper ends: the postmaster starts none again that has ended well, until the server
# recovers.
my $keeper = $stays->query_safe(q{SELECT pid FROM pg_leakhunt_processes WHERE backend_type = 'pg_leakhunt keeper'});
kill 'TERM', $keeper;
wait_until(sub { !-e "/proc/$keeper" }, 'the keeper ends');
is($stays->query_safe('SELECT 1'), 1, 'sessions go on without a keeper');
limit_processes($many, $postmaster);
is(ask($node, 'SELECT 1'), 1, 'sessions begin again');

# A session is killed where the postmaster can start nothing: it ends, as without us, and
# the next server shows what the session held.
$session->query_safe('SELECT leak_top(1000, 1000)');
limit_processes(1, $postmaster);
kill 'KILL', $pid;
eval { $session->{run}->finish };
wait_until(sub { slurp_file($node->logfile) =~ /could not fork startup process|could not fork process/ }, 'the server can not recover');
wait_until(sub { !-e "/proc/$postmaster" }, 'the postmaster ends');
eval { $stays->{run}->finish };
unlink $node->data_dir . '/postmaster.pid';
$node->_update_pid(0);
$node->start;
wait_until(sub { ask($node, "SELECT count(*) FROM pg_leakhunt_dumps WHERE file ~ '^$pid\\..*crash'") eq '1' }, 'what the session held is a dump of the next server');
$node->stop;
is_deeply([ grep { /PANIC|TRAP|terminated by signal (?!9)|pg_leakhunt is inactive/ } split /\n/, slurp_file($node->logfile) ],
	[], 'nobody crashed but who was killed');
done_testing();
