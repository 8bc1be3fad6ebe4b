# When call sites allocated what they hold: a leak, a cache and a queue, side by side in a
# session, over seconds that have to pass.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my $ROUNDS = 20;

set_and_reload($node, 'pg_leakhunt.sample_interval' => '1');
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

$session->query_safe(qq{
	CREATE TABLE rounds (began timestamptz, ended timestamptz);
	DO \$\$
	DECLARE began timestamptz;
	BEGIN
		PERFORM fill_cache_once(1000, 5000);
		PERFORM hold_chunk(2000000);
		FOR i IN 1 .. $ROUNDS LOOP
			began := clock_timestamp();
			PERFORM leak_top(10000, 100);
			INSERT INTO rounds VALUES (began, clock_timestamp());
			PERFORM release_chunk();
			PERFORM hold_chunk(2000000);
			PERFORM pg_sleep(0.5);
		END LOOP;
	END\$\$});

# Figures of the ages of the site that a function has, of the process or of a dump.
sub ages_of
{
	my ($source, $function, @figures) = @_;

	return split /\|/, ask($node,
		'SELECT ' . join(', ', @figures) . " FROM (SELECT *, row_number() OVER (ORDER BY allocated_from) AS number, count(*) OVER () AS count FROM pg_leakhunt_ages($source) WHERE site LIKE '$function%') ages"), -1;
}

# An allocation counts as of the beginning of its epoch, up to a second before; clocks are
# coarse.
my ($count, $least, $live, $total, $lengths, $wrong) = ages_of($pid, 'leaking_top', 'count(*)', 'min(survival)', 'sum(live_bytes)', 'sum(total_bytes)',
	"count(DISTINCT date_trunc('second', allocated_until - allocated_from + interval '0.5 s')) FILTER (WHERE number < count)",
	q{count(*) FILTER (WHERE total_bytes / 1000000.0 NOT BETWEEN
		(SELECT count(*) FROM rounds WHERE began > allocated_from + interval '1.02 s' AND ended < allocated_until - interval '0.02 s') AND
		(SELECT count(*) FROM rounds WHERE ended > allocated_from - interval '0.02 s' AND began < allocated_until + interval '1.02 s'))});
cmp_ok($count, '>=', 4, 'a leak has a step for each time');
cmp_ok($count, '<=', 8, 'no site has more than 8 spans');
is($least, 1, 'of a leak, everything of each time is left');
is($lengths, 1, 'spans are equally long');
is($wrong, 0, 'each has what was allocated in it');
is($live, $ROUNDS * 1_000_000, 'the spans of a leak add up');
is($total, $live, 'the spans of a leak have all that it allocated');

my ($spans, $cached, $older) = ages_of($pid, 'filling_cache', 'count(*)', 'sum(live_bytes)', "min(older_than) > interval '8 s'");
is($spans, 1, 'a cache that was filled once has a single span');
is($cached, 5_000_000, 'a cache that was filled once has its bytes in it');
is($older, 't', 'a cache that was filled once is old');

my ($young, $gone, $queued) = ages_of($pid, 'hold_chunk', 'sum(live_bytes) FILTER (WHERE number = count)',
	'max(live_bytes) FILTER (WHERE number < count)', 'sum(total_bytes)');
is($young, 2_000_000, 'a queue holds what is young');
is($gone, 0, 'a queue holds nothing of what was before');
# what was held before the loop has a stack of its own, and is freed
is($queued, $ROUNDS * 2_000_000, 'the spans of a queue have all that went through it');

is(ask($node, "SELECT count(*) FROM pg_leakhunt_ages($pid) WHERE allocated_from > allocated_until OR older_than < interval '0' OR live_bytes > total_bytes OR error_bytes <> 0"),
	0, 'times and bytes are in order, and exact at interval 1');
is( ask($node, "SELECT count(*) FROM (SELECT stack_id, context_name, query_id, query, sum(live_bytes) AS bytes FROM pg_leakhunt_ages($pid) GROUP BY 1, 2, 3, 4) a JOIN (SELECT stack_id, context_name, query_id, query, sum(live_bytes) AS bytes FROM pg_leakhunt_report($pid) GROUP BY 1, 2, 3, 4) r ON a.stack_id = r.stack_id AND a.context_name = r.context_name AND a.query_id IS NOT DISTINCT FROM r.query_id AND a.query IS NOT DISTINCT FROM r.query WHERE a.bytes <> r.bytes"),
	0, 'the spans of each site add up to its live bytes');

like(ask($node, "SELECT explanation FROM pg_leakhunt_explain($pid)") =~ s/\s+/ /gr,
	qr/Half of what this call site holds is older than \d+ s\. Nothing that it allocated since [-\d]+ [:\d]+\S+ has been freed\./,
	'an explanation tells how old what leaks is');

my $dump = ask($node, "SELECT pg_leakhunt_dump($pid)");
is(join('|', ages_of("'$dump'", 'leaking_top', 'count(*)', 'sum(live_bytes)')), "$count|$live", 'a dump has the ages of its process');
$session->quit;

my ($result, $stdout, $stderr) = $node->psql('postgres', 'SELECT * FROM pg_leakhunt_ages(99999999)');
is("$result|$stdout", '0|', 'a pid of no process has no rows');
like($stderr, qr/WARNING:  PID 99999999 is not a/, 'a pid of no process is a warning');
done_testing();
