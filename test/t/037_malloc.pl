# What malloc allocates, where pg_leakhunt_malloc.so is preloaded: blocks and bytes are
# exact, by any thread and after any fork, and their sum is what malloc itself says.
# Needs servers that are started with a library preloaded, and looks at sessions from
# others.  What libraries do with malloc is tested in t-coexistence.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# malloc counts what threads keep for themselves as in use, unless they may not.
my $tunables = 'glibc.malloc.tcache_count=0';

# Deleted contexts that the server keeps for others, and catalogs' caches.
my $slack = 200_000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\n");

# Start a server that samples malloc.
sub start_preloaded
{
	my ($server) = @_;

	local %ENV = (%ENV, preloaded($server, GLIBC_TUNABLES => $tunables));
	$server->start;
}

start_preloaded($node);
define_leakers($node);
define_malloc_users($node);

# A session with settings, and its pid.
sub session_with
{
	my ($settings) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe($settings) if $settings;
	return ($session, session_pid($session));
}

# How many samples a session has lost.
sub lost_by
{
	my ($pid) = @_;

	return ask($node, "SELECT samples_dropped FROM pg_leakhunt_sampling WHERE pid = $pid");
}

# Sizes of blocks, and how many of each: malloc maps some of them one by one.
my @blocks = ([ 16, 20_000 ], [ 100, 20_000 ], [ 3000, 2000 ], [ 300_000, 20 ]);

# Blocks are held, moved and freed; what is sampled and what malloc says stay together.
sub check_truth
{
	my ($name, $interval) = @_;
	my ($session, $pid) = session_with("SET pg_leakhunt.sample_interval = '$interval'");
	my ($before, $after);
	my $held;

	# the library is loaded, a profile has begun, and what they take is there
	warm_up($node, $session, $pid);
	$session->query_safe('SELECT regrow_malloc(200)');
	$before = malloc_figures($node, $session, $pid);
	$session->query_safe("SELECT hold_malloc($_->[0], $_->[1])") for @blocks;
	$held = $session->query_safe('SELECT held_bytes()');
	my $usable = $session->query_safe('SELECT held_usable_bytes()');
	$after = malloc_figures($node, $session, $pid);
	my $site = malloc_of($node, $pid, 'holding_malloc');
	is_estimate($site->{bytes}, $site->{error}, $held, "$name: a site has what is held");
	is_near($after->{outside} - $before->{outside}, $slack, $usable, "$name: malloc has given out what is held");
	is_malloc_true($before, $after, $slack, "$name, held");

	$session->query_safe('SELECT regrow_malloc(500)');
	$after = malloc_figures($node, $session, $pid);
	is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 0, "$name: a site does not have what was moved");
	$site = malloc_of($node, $pid, 'regrowing_malloc');
	is_estimate($site->{bytes}, $site->{error}, 500 * 42_020, "$name: the site that has moved blocks has them");
	is_malloc_true($before, $after, $slack, "$name, moved");

	$session->query_safe('SELECT release_malloc()');
	$after = malloc_figures($node, $session, $pid);
	is(malloc_of($node, $pid, 'ing_malloc')->{bytes}, 0, "$name: a site does not have what is freed");
	is_malloc_true($before, $after, $slack, "$name, freed");
	is(lost_by($pid), 0, "$name: no sample is lost");
	$session->quit;
}

check_truth('each block', '1');
check_truth('one in 4 kB', '4kB');
check_truth('one in 512 kB', '512kB');

# Threads free each other's blocks and the session's, and the session frees theirs.
my ($session, $pid) = session_with('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT hold_malloc(100, 1000)');
$session->query_safe('SELECT exchange_in_threads(4, 1000)');
my $before = malloc_figures($node, $session, $pid);
for my $round (1 .. 3)
{
	is($session->query_safe('SELECT exchange_in_threads(8, 50000)'), 't', 'threads exchange blocks');
	is(malloc_of($node, $pid, 'exchanging_')->{bytes}, 0, 'exchanged blocks are at no site');
}
is_malloc_true($before, malloc_figures($node, $session, $pid), 2_000_000, 'after threads exchanged blocks');
is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 100_000, 'blocks that threads have not touched are at their site');

# What threads allocate is not sampled.
$before = malloc_figures($node, $session, $pid);
is($session->query_safe('SELECT leak_in_threads(4, 5000)'), 't', 'threads leak');
is(malloc_of($node, $pid, 'leak_thousands')->{bytes}, 0, 'what threads allocate is not sampled');
my $after = malloc_figures($node, $session, $pid);
is_near($after->{outside} - $before->{outside}, 2_000_000, 20_000_000, 'malloc knows what threads allocate');

# Children have samples of their own.
is($session->query_safe('SELECT fork_while_exchanging(4, 30000)'), 0, 'children that a busy process forks use malloc');
is(malloc_of($node, $pid, 'exchanging_')->{bytes}, 0, 'children that a busy process forks leave no samples in its profile');
is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 100_000, 'children that a busy process forks leave its samples alone');
$session->query_safe('SELECT release_malloc()');
is(malloc_of($node, $pid, 'ing_malloc')->{bytes}, 0, 'what is freed after forks is at no site');
is(lost_by($pid), 0, 'no sample is lost by threads or forks');
$session->quit;

# The setting turns it off, and what is freed meanwhile is known.
($session, $pid) = session_with('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT hold_malloc(100, 1000)');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'off');
$session->query_safe('SELECT 1');
$session->query_safe('SELECT regrow_malloc(200)');
is(malloc_of($node, $pid, 'ing_malloc')->{bytes}, 0, 'no block is sampled with track_malloc = off');
set_and_reload($node, 'pg_leakhunt.track_malloc' => 'on');
$session->query_safe('SELECT 1');
$session->query_safe('SELECT hold_malloc(100, 500)');
is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 50_000, 'blocks are sampled with track_malloc = on again');
$session->quit;

# A signal handler that jumps out of an allocation may leave the countdown below 0, from
# where it would never end.  The end of the transaction, whichever, begins it anew.
($session, $pid) = session_with('SET pg_leakhunt.sample_interval = 1');
for my $end ('COMMIT', 'ROLLBACK')
{
	$session->query_safe('BEGIN');
	$session->query_safe('SELECT leave_step_halfway()');
	$session->query_safe('SELECT hold_malloc(1000, 5000)');
	is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 0, 'no block is sampled when a step was left halfway');
	$session->query_safe($end);
	$session->query_safe('SELECT hold_malloc(1000, 5000)');
	is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 5_000_000, "blocks are sampled after the $end when a step was left halfway");
	$session->query_safe('SELECT release_malloc()');
}
$session->quit;

# No room for samples: they are lost, and counted as such.
$node->append_conf('postgresql.conf', "pg_leakhunt.max_live_samples = 1000\npg_leakhunt.sample_interval = 1\n");
$node->stop;
start_preloaded($node);
($session, $pid) = session_with('');
for my $round (1 .. 3)
{
	my $lost = lost_by($pid);

	$session->query_safe('SELECT hold_malloc(100, 5000)');
	cmp_ok(malloc_of($node, $pid, 'holding_malloc')->{count}, '<=', 1000, 'a session has no more samples of malloc than max_live_samples');
	cmp_ok(lost_by($pid) - $lost, '>=', 4000, 'samples of malloc beyond max_live_samples are counted as lost');
	$session->query_safe('SELECT release_malloc()');
	is(malloc_of($node, $pid, 'holding_malloc')->{bytes}, 0, 'a site does not have what is freed after samples were lost');
}
$session->quit;

# Two servers do not get into each other's way.
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.sample_interval = 1\n");
start_preloaded($other);
define_leakers($other);
define_malloc_users($other);
my @sessions = map { $_->background_psql('postgres') } $node, $other;
my @pids = map { session_pid($_) } @sessions;
$sessions[0]->query_safe('SELECT hold_malloc(200, 100)');
$sessions[1]->query_safe('SELECT hold_malloc(300, 100)');
is(malloc_of($node, $pids[0], 'holding_malloc')->{bytes}, 20_000, 'a session of the first server has its own blocks');
is(malloc_of($other, $pids[1], 'holding_malloc')->{bytes}, 30_000, 'a session of the second server has its own blocks');
$_->quit for @sessions;

for my $server ($node, $other)
{
	$server->stop;
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal|WARNING:.*pg_leakhunt/, $server->name . ': no process has crashed');
}
done_testing();
