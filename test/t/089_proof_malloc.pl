# Blocks of malloc that nothing points to are lost, to the byte, wherever malloc has them,
# and those that can be reached hold what they point to.  Needs a library preloaded.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', 'pg_leakhunt.sample_interval = 1', 'jit = off');

$node->stop;
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
define_malloc_users($node);
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
warm_up($node, $session, $pid);

# What is lost of malloc's blocks, counted: blocks, bytes, and blocks of that size.
sub lost_blocks
{
	my ($bytes) = @_;

	return split /\|/, ask($node, qq{
		SELECT coalesce(sum(lost_chunks), 0), coalesce(sum(lost_bytes), 0),
			coalesce(sum(lost_chunks) FILTER (WHERE kind LIKE '$bytes bytes%'), 0)
		FROM pg_leakhunt_proof($pid) WHERE context_name = '[malloc]' AND kind IS NOT NULL});
}

sub proven_site
{
	my ($function) = @_;

	return ask($node, qq{
		SELECT chunks, bytes, lost_chunks, lost_bytes, lifetime
		FROM pg_leakhunt_proof($pid) WHERE site LIKE '$function%'});
}

# Run a statement.  Returns how many more blocks are lost then, and bytes, and of that size.
sub lost_by
{
	my ($statement, $bytes) = @_;
	my @before = lost_blocks($bytes);

	$session->query_safe($statement);
	my @after = lost_blocks($bytes);
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

is_deeply([ lost_by('SELECT hold_malloc(200, 3000)', 200) ], [ 0, 0, 0 ], 'what a list holds is not lost');
is(proven_site('holding_malloc'), '3000|600000|0|0|process', 'nor at its call site');
# An old address in memory that nobody uses may hold a block, and all that this leads to.
my @lost = lost_by('SELECT forget_malloc()', 200);
cmp_ok($lost[2], '>', 2000, 'it is lost once nobody has the list');
cmp_ok($lost[2], '<=', 3000, 'and no more than that');
is($lost[1], 200 * $lost[0], 'to the byte');
is(proven_site('holding_malloc'), "3000|600000|$lost[2]|" . 200 * $lost[2] . '|process', 'at its call site, too');

# The first blocks of the lists of free ones have addresses of the rest.
is_deeply([ lost_by('SELECT hold_malloc(100, 3000), release_malloc()', 104) ], [ 0, 0, 0 ],
	'what was freed is not lost');

# As the kernel gives out pages, each is a mapping.
# An old address may hold the last one.
my @large = lost_by(join('; ', ('SELECT hold_malloc(40000000, 1), forget_malloc()') x 4), 67108864);
cmp_ok($large[2], '>=', 3, 'large blocks are lost, too');
cmp_ok($large[1], '>=', $large[2] * 40_000_000, 'each byte of them');
cmp_ok($large[1], '<', $large[2] * (40_000_000 + 4096), 'and no more than the pages that they have');

# A variable has the last one; stacks of threads that have ended may have others.
my @threads = lost_by('SELECT leak_in_threads(2, 1000)', 1000);
cmp_ok($threads[2], '>=', 1000, 'what threads have left is lost');
cmp_ok($threads[2], '<', 2000, 'but for the block that a variable has');

$session->query_safe('SELECT hold_in_malloc(5000)');
is(ask($node, qq{
	SELECT lost_chunks, held_by, path FROM pg_leakhunt_proof($pid)
	WHERE site LIKE 'palloc_for_malloc%'}),
	'0|the variable holder of malloc_users.so|the variable holder of malloc_users.so -> 104 bytes of malloc',
	'a variable holds a chunk by way of a block of malloc');
$session->quit;
$node->stop;

# Without the library there are no call sites, but the blocks are the same.
$node->start;
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe("SELECT count(DISTINCT proname) FROM pg_proc");
@lost = lost_by('SELECT hold_malloc(200, 3000), forget_malloc()', 200);
cmp_ok($lost[2], '>', 500, 'blocks are lost where the library is not preloaded');
cmp_ok($lost[2], '<=', 3000, 'and no more than there were');
$session->quit;

done_testing();
