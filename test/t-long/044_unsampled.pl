# What processes allocate before they are sampled is at no call site, and is told:
# needs new sessions, reloads and a server without the module.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my $MB = 1_000_000;

# A new session that has leaked that many chunks of 1000 bytes, and its row.
sub leak_in_new_session
{
	my ($count) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SELECT leak_top(1000, $count)");
	return ($session, process_row($node, session_pid($session)));
}

# A session that leaks from its first statement on.
my ($session, $row) = leak_in_new_session(50_000);
my $site = report_row($node, $row->{pid}, 'leaking_top');
cmp_ok($row->{unsampled_bytes}, '>=', 2 * 1024 * 1024, 'the first 2 MB of a session are not sampled');
cmp_ok($row->{unsampled_bytes}, '<=', 8.1 * 1024 * 1024, 'no more than the first 8 MB of a session are not sampled');
cmp_ok(50 * $MB - $site->{live_bytes} - 3 * $site->{error_bytes},
	'<=', $row->{unsampled_bytes}, 'what the call site lacks is in unsampled_bytes');
$session->quit;

# Sampling that begins later.
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
($session, $row) = leak_in_new_session(20_000);
is($row->{unsampled_bytes}, undef, 'a session that is not sampled has no profile to tell it');
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
$session->query_safe('SELECT leak_top(1000, 20000)');
$row = process_row($node, $row->{pid});
cmp_ok($row->{unsampled_bytes}, '>=', 20 * $MB, 'what was allocated while sampling was off is told');
cmp_ok($row->{unsampled_bytes}, '<=', 25 * $MB, 'what was allocated after sampling began is not in unsampled_bytes');
$site = report_row($node, $row->{pid}, 'leaking_top');
is_estimate($site->{live_bytes}, 20 * $MB, $site->{error_bytes}, 'what was allocated after sampling began is sampled');
like(
	ask($node, "SELECT explanation FROM pg_leakhunt_explain($row->{pid})") =~ s/\s+/ /gr,
	qr/What it allocated before sampling began has no call site: 2\d MB, part of which may have been freed\./,
	'an explanation tells what was allocated before sampling began');
my $before = $row->{unsampled_bytes};
set_and_reload($node, 'pg_leakhunt.enabled' => 'off');
$session->query_safe('SELECT leak_top(1000, 5000)');
set_and_reload($node, 'pg_leakhunt.enabled' => 'on');
$session->query_safe('SELECT leak_top(1000, 5000)');
is(process_row($node, $row->{pid})->{unsampled_bytes}, $before, 'what was allocated in a pause of sampling is not in unsampled_bytes');
$session->quit;

# Every allocation from the first one on.
set_and_reload($node, 'pg_leakhunt.sample_interval' => '1');
($session, $row) = leak_in_new_session(100);
is($row->{unsampled_bytes}, 0, 'at interval 1 no allocation is unsampled');
$session->quit;
$node->stop;

# Sessions that load the module when they have allocated much.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
is( ask($node, q{
		LOAD 'pg_leakhunt';
		PREPARE kept AS SELECT count(*) FROM pg_class;
		SELECT live_bytes > 0, unsampled_bytes FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = pg_backend_pid()}),
	't|',
	'nobody knows what a session allocated before it loaded the module');
$node->stop;

done_testing();
