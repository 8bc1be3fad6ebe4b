# The less usual ways to allocate, and to fail to: counts must be right
# afterwards.  Needs settings that take effect when a session starts, and looks
# at each session from another.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Test::More;

my $too_much = '1::bigint << 46';
my $node = new_server('main', "pg_leakhunt.sample_interval = 1\npg_leakhunt.scope = long_lived\n");
define_corner_cases($node);

my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

# What is live and what was ever allocated by a function, as "count bytes total";
# nothing if it has never been seen.
sub figures
{
	my ($function) = @_;

	return ask(
		$node, qq{
		SELECT sum(live_count) || ' ' || sum(live_bytes) || ' ' || sum(total_count)
		FROM pg_leakhunt_report
		WHERE pid = $pid AND '$function' = ANY (functions(stack))});
}

# Aligned chunks are cut out of larger ones, that are the sampled ones.
SKIP:
{
	skip 'no aligned allocation', 5 if $node->pg_version < 16;
	my $total = 0;
	for my $alignment (8, 64, 4096)
	{
		$session->query_safe("SELECT aligned_in_balance(100, $alignment, 1000)");
		# each is allocated and grown
		$total += 2000;
		is(figures('aligned_in_balance'), "0 0 $total",
			"aligned to $alignment: freed");
	}
	$session->query_safe('SELECT leak_aligned(100, 4096, 1000)');
	my ($count, $bytes) = split / /, figures('leak_aligned');
	is($count, 1000, 'each aligned chunk is counted');
	cmp_ok($bytes, '>=', 1000 * 4096,
		'the bytes of aligned chunks include what aligning them takes');
}

# Beyond 1 GB.
$session->query_safe('SELECT hold_huge(3::bigint << 30)');
is(figures('hold_huge'), '1 ' . (3 << 30) . ' 2', 'a chunk of 3 GB is counted with its growth');
$session->query_safe('SELECT release_huge()');
is(figures('hold_huge'), '0 0 2', 'a chunk of 3 GB is freed');

# Growth that is refused in all ways: the chunk is still there, and goes once.
$session->query_safe("SELECT refused_growth($too_much, true)") for 1 .. 10;
is(figures('refused_growth'), '0 0 20', 'a chunk whose growth was refused is freed once');
$session->query_safe("SELECT refused_growth($too_much, false)") for 1 .. 10;
is(figures('refused_growth'), '10 100000 40', 'a chunk whose growth was refused is kept once');

# A palloc in a context that was deleted is not for ever, and the context that takes its place
# has its own name.
$session->query_safe('SELECT allocate_in_deleted(100)');
is(figures('allocating_in_deleted'), '0 0 1', 'what was allocated in a deleted context is gone with it');
is(figures('allocating_in_next'), '1 100 1', 'what is in the next one is kept');
is(ask($node, "SELECT context_name FROM pg_leakhunt_report WHERE pid = $pid AND 'allocating_in_next' = ANY (functions(stack))"),
	'next context', 'by its name');

# In a critical section nothing is recorded, but what goes there is gone.
$session->query_safe('SELECT free_in_critical_section(100, 500)');
is(figures('free_in_critical_section'),
	'0 0 500', 'what a critical section frees counts as freed');
is( $node->safe_psql(
		'postgres',
		"SELECT samples_dropped FROM pg_leakhunt_sampling WHERE pid = $pid"),
	500,
	'what a critical section allocates is counted as lost');
$session->quit;

# Contexts without chunk headers: what is in them goes with them.
SKIP:
{
	skip 'no Bump contexts', 6 if $node->pg_version < 17;
	for my $interval (1, 1000)
	{
		$session = $node->background_psql('postgres');
		$pid = session_pid($session);
		$session->query_safe(
			"SET pg_leakhunt.sample_interval = $interval; SELECT fill_bump(100, 50000)"
		);
		my $row = report_row($node, $pid, 'filling_bump');
		is_estimate($row->{live_bytes}, $row->{error_bytes},
			5_000_000, "a Bump context at interval $interval");
		is($row->{context_name}, 'leaker bump', 'a Bump context has its name');
		$session->query_safe('SELECT delete_bump()');
		is((split / /, figures('filling_bump'))[0], 0, 'a Bump context takes along what is in it');
		$session->quit;
	}
}

# Subtransactions that abort take with them what they allocated.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe(
	q{
	SET pg_leakhunt.scope = 'all';
	CREATE FUNCTION aborted() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 20 LOOP
			BEGIN
				PERFORM leak_in_transaction(100, 50);
				PERFORM 1 / 0;
			EXCEPTION WHEN division_by_zero THEN
				NULL;
			END;
		END LOOP;
	END $$;
	BEGIN;
	SELECT aborted();
	SAVEPOINT kept;
	SELECT leak_in_transaction(10, 7);
	SAVEPOINT dropped;
	SELECT leak_in_transaction(10, 1000);
	ROLLBACK TO dropped});
is(figures('leak_in_transaction'),
	'7 70 2007', 'what aborted subtransactions have allocated is gone, the rest stays');
is( $node->safe_psql(
		'postgres', qq{
		SELECT DISTINCT lifetime FROM pg_leakhunt_report
		WHERE pid = $pid AND 'leak_in_transaction' = ANY (functions(stack))}),
	'transaction',
	'what a subtransaction has allocated has lifetime transaction');
is( $node->safe_psql(
		'postgres', qq{
		SELECT string_agg(DISTINCT lifetime, ',') FROM pg_leakhunt_report
		WHERE pid = $pid AND context_name = 'PL/pgSQL function'}),
	'session',
	'a function that an aborted subtransaction has compiled has lifetime session');
$session->query_safe('COMMIT');
is(figures('leak_in_transaction'), '0 0 2007', 'what a subtransaction has allocated is gone after COMMIT');
$session->quit;

# A size that is garbage is refused, and does not switch sampling off.
$session = $node->background_psql('postgres', on_error_stop => 0);
$pid = session_pid($session);
$session->query_safe("SET pg_leakhunt.sample_interval = '16kB'");
for my $size (-1, -8, '-(1::bigint << 40)', '-1::bigint << 63')
{
	my ($result, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT garbage_size($size)");
	like($stderr, qr/invalid memory alloc request size/, "$size is refused");
	$session->query(
		"DO \$\$ BEGIN PERFORM garbage_size($size); EXCEPTION WHEN OTHERS THEN NULL; END \$\$"
	);
}
$session->query_safe('SELECT leak_top(100, 100000)');
my $row = report_row($node, $pid, 'leaking_top');
is_estimate($row->{live_bytes}, $row->{error_bytes}, 10_000_000,
	'samples are taken as before after sizes that are garbage');
$session->quit;

# From 17 on, nothing stands between pfree and an unsampled chunk.
is( $node->safe_psql('postgres', 'SELECT pfree_is_untouched()'),
	$node->pg_version < 17 ? 'f' : 't',
	"pfree of an unsampled chunk is the server's own from 17 on");

$node->stop;
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/PANIC|terminated by signal|write past chunk/, 'no process crashes in corner cases');
done_testing();
