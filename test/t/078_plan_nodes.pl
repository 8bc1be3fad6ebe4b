# What each node of a plan held: hash tables and their batches, aggregates, sorts, tuple
# stores, foreign tables, functions, partitions, workers; against what is known of them,
# and against samples of each allocation.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use JSON::PP;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "autovacuum = off\nmax_parallel_workers_per_gather = 0\njit = off\nwork_mem = '8MB'\nhash_mem_multiplier = 1\nlogging_collector = off\n");
my $version = ask($node, 'SHOW server_version_num');
my $function = 'SELECT pg_leakhunt_explain_analyze';

$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT g AS id, g % 5000 AS few, repeat('x', 40) || g AS text FROM generate_series(1, 40000) g;
	CREATE TABLE left_parts (id int, value text) PARTITION BY HASH (id);
	CREATE TABLE right_parts (id int, value text) PARTITION BY HASH (id);
	SELECT format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s_parts FOR VALUES WITH (MODULUS 48, REMAINDER %2$s)', side, g)
		FROM generate_series(0, 47) g, unnest('{left,right}'::text[]) side \gexec
	INSERT INTO left_parts SELECT id, text FROM rows;
	INSERT INTO right_parts SELECT id, text FROM rows;
	CREATE FUNCTION keeps(bytes int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(bytes, 1); RETURN 1; END $$;
	CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(1000, 10); RETURN NULL; END $$;
	CREATE TABLE with_trigger (a int);
	CREATE TRIGGER after AFTER INSERT ON with_trigger FOR EACH ROW EXECUTE FUNCTION after();
	ANALYZE});

# The plan of a statement, as JSON tells it; settings come before.
sub explained
{
	my ($query, $settings, $options) = @_;
	my $output = $node->safe_psql('postgres', ($settings ? "$settings;" : '') . "$function(\$q\$$query\$q\$, '" . ($options // 'FORMAT JSON, TIMING OFF') . "')");

	return $options ? $output : decode_json($output)->[0];
}

# All nodes of a plan, in the order in which they are printed.
sub nodes
{
	my ($plan) = @_;
	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

# The first node of a type, and what it held at most.
sub node_of
{
	my ($explained, $type) = @_;
	my ($found) = grep { $_->{'Node Type'} eq $type } nodes($explained->{Plan});
	return $found // die "no $type";
}
sub held { return node_of(@_)->{Leakhunt}{'Highest Bytes'} }

# Do the parts at the peak add up to it?
sub adds_up
{
	my ($explained, $name) = @_;
	my $statement = $explained->{Leakhunt};
	my $in_nodes = 0;

	$in_nodes += $_->{Leakhunt}{'Bytes at Peak'} for nodes($explained->{Plan});
	is($statement->{'Nodes Bytes'}, $in_nodes, "$name: the nodes' sum");
	is($statement->{'Peak Bytes'}, $in_nodes + $statement->{'Planner Bytes'} + $statement->{'Executor Start Bytes'} + $statement->{'Between Nodes Bytes'} + $statement->{'Executor End Bytes'}, "$name: the peak is the sum of its parts");
	is(scalar(grep { $_->{Leakhunt}{'Bytes at Peak'} > $_->{Leakhunt}{'Highest Bytes'} } nodes($explained->{Plan})), 0, "$name: no node held more at the peak than at most");
}

# Explain by samples, and with each allocation a sample: each node is as it should be.
# Returns the latter.
sub agrees
{
	my ($name, $query, $settings) = @_;
	my $sampled = explained($query, $settings);
	my $exact = explained($query, join ';', $settings || (), 'SET pg_leakhunt.sample_interval = 1');
	my @sampled = nodes($sampled->{Plan});
	my @exact = nodes($exact->{Plan});
	my @wrong;

	adds_up($_, $name) for $sampled, $exact;
	is(scalar(@sampled), scalar(@exact), "$name: the same plan");
	for my $i (0 .. $#exact)
	{
		my ($is, $should_be) = ($sampled[$i]{Leakhunt}, $exact[$i]{Leakhunt});

		for my $figure ('Highest Bytes', 'Bytes at Peak')
		{
			# what is not sampled may be there, as well
			my $tolerance = 3 * $is->{'Error Bytes'} + 24 * 1024;
			push @wrong, "$exact[$i]{'Node Type'}: $figure $is->{$figure} instead of $should_be->{$figure}, error $is->{'Error Bytes'}"
			  if $figure eq 'Highest Bytes' && abs($is->{$figure} - $should_be->{$figure}) > $tolerance;
		}
		push @wrong, "$exact[$i]{'Node Type'} has an error" if $should_be->{'Error Bytes'} != 0;
	}
	is(join("\n", @wrong), '', "$name: each node is within its error of exact sampling");
	return $exact;
}

# hash joins: in one batch and in several
my $join = 'SELECT count(*) FROM rows a JOIN rows b USING (id)';
my $only_hash = 'SET enable_mergejoin = off; SET enable_nestloop = off';
for my $case ([ 'one batch', '64MB', 1 ], [ 'batches', '512kB', 2 ])
{
	my ($name, $work_mem, $least_batches) = @$case;
	my $exact = agrees("a hash join, $name", $join, "$only_hash; SET work_mem = '$work_mem'");
	my $hash = node_of($exact, 'Hash');

	cmp_ok($hash->{'Hash Batches'}, '>=', $least_batches, "$name: as it should be");
	is_near($hash->{Leakhunt}{'Highest Bytes'} / 1024, $hash->{'Peak Memory Usage'} * 0.1 + 24 * $hash->{'Hash Batches'} + 32, $hash->{'Peak Memory Usage'}, "$name: the hash table is of its own node, and is what EXPLAIN says itself");
	like($hash->{Leakhunt}{Context}, qr/^Hash(Batch|Table|Spill)Context$/, "$name: in which context");
	is($hash->{Leakhunt}{'Allowed Bytes'}, $work_mem eq '64MB' ? 64 << 20 : 512 << 10, "$name: what settings allow");
	cmp_ok(held($exact, 'Hash Join'), '<', 200 * 1024, "$name: the join has little beside");
	is(held($exact, 'Seq Scan') > 100 * 1024 ? 1 : 0, 0, "$name: and so have the scans");
}
is(node_of(explained($join, "$only_hash; SET work_mem = '1MB'; SET hash_mem_multiplier = 3"), 'Hash')->{Leakhunt}{'Allowed Bytes'}, 3 << 20, 'hash_mem_multiplier counts for hash tables');
is(node_of(explained($join, "$only_hash; SET work_mem = '1MB'; SET hash_mem_multiplier = 3"), 'Seq Scan')->{Leakhunt}{'Allowed Bytes'}, 1 << 20, 'and not for other nodes');

# aggregates, sorts, tuple stores
my $exact = agrees('a hashed aggregate', 'SELECT few, count(*), max(text) FROM rows GROUP BY few', 'SET enable_sort = off');
my $aggregate = node_of($exact, 'Aggregate');
cmp_ok($aggregate->{Leakhunt}{'Highest Bytes'} / 1024 / $aggregate->{'Peak Memory Usage'}, '>', 0.4, 'a hashed aggregate has its hash table, without what is unused in blocks');
cmp_ok($aggregate->{Leakhunt}{'Highest Bytes'} / 1024 / $aggregate->{'Peak Memory Usage'}, '<', 1.3, 'and no more');
cmp_ok($exact->{Leakhunt}{'Executor Start Bytes'}, '<', 150_000, 'its array, which was allocated at the start, included');
$exact = agrees('a sort', 'SELECT * FROM rows ORDER BY text, id');
is_near(held($exact, 'Sort') / 1024 / node_of($exact, 'Sort')->{'Sort Space Used'}, 0.25, 1, 'a sort is what EXPLAIN says itself');
$exact = agrees('array_agg', 'SELECT array_agg(text) FROM rows');
cmp_ok(held($exact, 'Aggregate'), '>', 40_000 * 44, 'a plain aggregate holds its state');
$exact = agrees('materialize', 'SELECT count(b.text) FROM (SELECT id FROM rows WHERE id < 20) a LEFT JOIN (SELECT id, text FROM rows WHERE id <= 10000) b ON a.id <> b.id');
cmp_ok(held($exact, 'Materialize'), '>', 10_000 * 50, 'materialize');
$exact = agrees('window functions', "SELECT sum(n), max(m) FROM (SELECT id, count(*) OVER (PARTITION BY few % 2) n, max(text) OVER (PARTITION BY few % 2) m FROM rows) s");
cmp_ok(held($exact, 'WindowAgg'), '>', 20_000 * 50, 'a window function holds its partition');
$exact = agrees('a function scan', 'SELECT count(*) FROM generate_series(1, 100000) g');
cmp_ok(held($exact, 'Function Scan'), '>', 100_000 * 8, 'a function scan holds its rows');

# subplans, CTEs, set operations, recursion, bitmaps
$exact = agrees('a CTE', 'WITH c AS MATERIALIZED (SELECT * FROM rows) SELECT count(*) FROM c a JOIN c b USING (id)', $only_hash);
is(scalar(grep { $_->{'Node Type'} eq 'CTE Scan' && $_->{Leakhunt}{'Highest Bytes'} > 40_000 * 50 } nodes($exact->{Plan})), 1, 'a CTE is held by the node that reads it first');
$exact = agrees('a hashed subplan', 'SELECT count(*) FROM rows WHERE id NOT IN (SELECT id + 1000000 FROM rows)');
is(scalar(grep { ($_->{Leakhunt}{'Highest Bytes'} // 0) > 40_000 * 24 && $_->{'Node Type'} eq 'Seq Scan' && !$_->{'Subplan Name'} } nodes($exact->{Plan})), 1, 'a hashed subplan is held by the node that asks it');
agrees('a recursion', 'WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 5000) SELECT count(*) FROM r');
$node->safe_psql('postgres', 'CREATE INDEX ON rows (few); VACUUM rows');
$exact = agrees('a bitmap', 'SELECT count(*) FROM rows WHERE few < 4900', 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off');
cmp_ok(held($exact, 'Bitmap Index Scan'), '>', 10_000, 'a bitmap is held by the node that made it');
cmp_ok(held($exact, 'Bitmap Index Scan'), '>', held($exact, 'Bitmap Heap Scan') / 3, 'and not by the one that reads it');
agrees('rescans', 'SELECT count(*) FROM rows a, LATERAL (SELECT array_agg(b.text) FROM rows b WHERE b.few = a.few ORDER BY 1) s WHERE a.id < 30', 'SET enable_memoize = off');
agrees('memoize', 'SELECT count(*) FROM rows a, LATERAL (SELECT * FROM rows b WHERE b.few = a.few OFFSET 0) s WHERE a.id < 3000');

# 48 joins of partitions
$exact = agrees('partitionwise joins', 'SELECT count(*) FROM left_parts JOIN right_parts USING (id)', "$only_hash; SET enable_partitionwise_join = on");
my @hashes = grep { $_->{'Node Type'} eq 'Hash' } nodes($exact->{Plan});
is(scalar(@hashes), 48, 'there are 48 hash tables');
is(scalar(grep { $_->{Leakhunt}{'Highest Bytes'} > 32_000 && $_->{Leakhunt}{'Highest Bytes'} < 200_000 } @hashes), 48, 'each is of its own node');
cmp_ok($exact->{Leakhunt}{'Nodes Bytes'}, '>', 48 * 45_000, 'and they are all there at the peak');

# functions, triggers, foreign tables
$exact = agrees('a function', 'SELECT sum(keeps(1000)) FROM generate_series(1, 1000) g');
my $calling = node_of($exact, 'Aggregate')->{Leakhunt};
is_near($calling->{'Highest Bytes'}, 200_000, 1_000_000, 'what a function keeps is of the node that called it');
is($calling->{Site} =~ s/ .*//r, 'leaking_top', 'with the site');
like($calling->{Routine}, qr/^(public\.)?keeps\(integer\) line 1$/, 'and the function in PL/pgSQL');
is($calling->{Context}, 'TopMemoryContext', 'and the context');
$exact = agrees('a trigger', 'INSERT INTO with_trigger SELECT generate_series(1, 100)');
is_near($exact->{Leakhunt}{'Executor End Bytes'}, 300_000, 1_000_000, 'what AFTER triggers keep is told beside the nodes');
SKIP:
{
	skip 'postgres_fdw is not installed', 1
	  if !ask($node, "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	$node->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $node->host . "', port '" . $node->port . "', dbname 'postgres', fetch_size '40000');
		CREATE USER MAPPING FOR PUBLIC SERVER loop; CREATE FOREIGN TABLE foreign_rows (id int, few int, text text) SERVER loop OPTIONS (table_name 'rows')");
	$exact = agrees('a foreign table', 'SELECT count(*) FROM foreign_rows WHERE random() < 2');
	cmp_ok(held($exact, 'Foreign Scan'), '>', 40_000 * 50, 'a foreign table holds the rows that it has fetched');
	like(node_of($exact, 'Foreign Scan')->{Leakhunt}{Context}, qr/^postgres_fdw/, 'in its own context');
}

# statements that EXPLAIN has beside SELECT
is(held(explained('EXECUTE p(1)', "PREPARE p(int) AS SELECT array_agg(text) FROM rows WHERE id > \$1"), 'Aggregate') > 1_500_000 ? 1 : 0, 1, 'EXPLAIN EXECUTE');
is(held(explained('DECLARE c CURSOR FOR SELECT array_agg(text) FROM rows'), 'Aggregate') > 1_500_000 ? 1 : 0, 1, 'EXPLAIN DECLARE CURSOR');
is(held(explained('CREATE TABLE made AS SELECT array_agg(text) FROM rows'), 'Aggregate') > 1_500_000 ? 1 : 0, 1, 'EXPLAIN CREATE TABLE AS');
is(held(explained('SELECT array_agg(text) FROM rows', 'SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0'), 'Aggregate') > 1_500_000 ? 1 : 0, 1, 'with JIT');
$node->safe_psql('postgres', 'CREATE TABLE ruled (a text); CREATE RULE also AS ON INSERT TO ruled DO ALSO SELECT array_agg(text) FROM rows');
my $two = decode_json($node->safe_psql('postgres', "$function('INSERT INTO ruled SELECT max(text) FROM rows', 'FORMAT JSON')"));
is(scalar(@$two), 2, 'a rule makes two plans of one statement');
is_deeply([ map { held($_, 'Aggregate') > 1_500_000 ? 1 : 0 } @$two ], [ 0, 1 ], 'each has its own figures');
is(scalar(grep { $_->{Leakhunt}{'Peak Bytes'} > 0 } @$two), 2, 'and its own total');

# workers
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_parallel_hash = off';
define_fixture($node, 'meeting');
my $shared = 'SELECT count(*), max(meet(3)) FROM rows a JOIN rows b USING (id)';
my $explained = explained($shared, "$only_hash; $parallel");
my $hash = node_of($explained, 'Hash');
is(join(' ', map { $_->{'Worker Number'} } @{ $hash->{Leakhunt}{Workers} }), '0 1', 'workers tell of their nodes');
is(scalar(grep { abs($_->{'Highest Bytes'} / 1024 - $hash->{'Peak Memory Usage'}) < $hash->{'Peak Memory Usage'} * 0.1 + 3 * $_->{'Error Bytes'} / 1024 } @{ $hash->{Leakhunt}{Workers} }), 2, 'each had a hash table of its own');
is(scalar(grep { $_->{'Peak Bytes'} > $hash->{'Peak Memory Usage'} * 900 } @{ $explained->{Leakhunt}{Workers} }), 2, 'and it is in the totals');
like(explained($shared, "$only_hash; $parallel", 'COSTS OFF'), qr/Leakhunt Worker 1: \d+ \wB \(\+\/- \d+ \wB\) at most, \d+ \wB at its peak\n.*Leakhunt Workers: \d+ \wB \(.*\) more, in 2 workers/s, 'as text, too');
$explained = explained($join, "$only_hash; $parallel; SET enable_parallel_hash = on");
ok(node_of($explained, 'Hash')->{Leakhunt}{'Shared Hash Table'}, 'a hash table that workers share is not counted, which is said');
is(ask($node, "SELECT count(*) FROM pg_ls_dir('pg_dynshmem')"), 0, 'no shared memory is left');

# formats
my $text = explained($join, "$only_hash", 'COSTS OFF');
like($text, qr/^Aggregate .*\n(.*\n)*? +->  Hash \(.*\n(.*\n)*? {14}Leakhunt: \d+ kB \(\+\/- \d+ kB\) at most, \d+ kB at the statement's peak, [\d.]+ times the 8192 kB that work_mem \* hash_mem_multiplier allows\n +Leakhunt Most: \d+ kB in HashBatchContext, at /m, 'as text, a node has its line');
like($text, qr/^Leakhunt Statement: \d+ kB \(\+\/- \d+ kB\) at the peak: \d+ kB by nodes, \d+ .* by the planner, /m, 'and so has the statement');
my $lines = () = $text =~ /^ *(->|Aggregate)/mg;
for my $format ([ 'YAML', qr/^ +(- )?Node Type:/m, qr/^ +Leakhunt: ?$/m ], [ 'XML', qr/<Node-Type>/, qr{<Leakhunt>} ])
{
	my $output = explained($join, $only_hash, "FORMAT $format->[0]");
	my $nodes = () = $output =~ /$format->[1]/g;
	my $groups = () = $output =~ /$format->[2]/g;

	is($nodes, $lines, "$format->[0] has the same nodes");
	is($groups, $nodes + 1, 'and a group for each, and one for the statement');
}
is($node->safe_psql('postgres', "SELECT xml_is_well_formed_document(string_agg(x, E'\\n')) FROM pg_leakhunt_explain_analyze('SELECT * FROM rows ORDER BY 3', 'FORMAT XML') x"), 't', 'XML is well-formed') if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_config WHERE name = 'CONFIGURE' AND setting LIKE '%libxml%'});
my $hostile = "SELECT count(*) FROM rows WHERE text <> E'a\\n  ->  Seq Scan on b'";
like($node->safe_psql('postgres', "$function(\$q\$$hostile\$q\$)"), $version < 180000 ? qr/Leakhunt Note: Which line is of which node could not be told/ : qr/Leakhunt Statement/, 'text that looks like a node is not taken for one');
adds_up(explained($hostile), 'text that looks like a node');

# what goes wrong, and what is left then
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = session_pid($session);
my $interval = 512 * 1024;
for my $wrong (
	[ "$function('SELECT 1 / (random() * 0)::int FROM rows')", qr/division by zero/ ],
	[ "$function('SELECT 1; SELECT 2')", qr/explains one statement/ ],
	[ "$function('SELECT FROM WHERE')", qr/syntax error/ ],
	[ "$function(NULL)", qr/query must not be null/ ],
	[ "$function('SELECT 1', 'NONSENSE')", qr/unrecognized EXPLAIN option/ ],
	[ q{SELECT pg_leakhunt_check('SELECT pg_leakhunt_explain_analyze(''SELECT 1'')', 2, 0)}, $version < 180000 ? qr/cannot watch the statement\n.*pg_leakhunt_check is running/ : qr/^$/ ],
	[ "$function('SELECT count(*) FROM pg_leakhunt_check(''SELECT 1'')')", qr/pg_leakhunt_check cannot run within EXPLAIN \(LEAKHUNT\)/ ],
	[ "$function('SELECT count(*) FROM pg_leakhunt_explain_analyze(''SELECT 1'')')", $version < 180000 ? qr/cannot watch the statement\n.*another EXPLAIN \(LEAKHUNT\)/ : qr/^$/ ])
{
	$session->query($wrong->[0]);
	like($session->{stderr}, $wrong->[1], "refused, or failed: $wrong->[0]");
	$session->{stderr} = '';
	$session->query_safe("SELECT length(repeat('x', 10000000))");
	is(process_row($node, $pid)->{sample_interval}, $interval, 'and samples are as before');
}
$session->query_safe(q{DO $$ BEGIN PERFORM pg_leakhunt_explain_analyze('SELECT 1 / (random() * 0)::int'); EXCEPTION WHEN division_by_zero THEN NULL; END $$});
is($session->query_safe("SELECT length(repeat('x', 10000000))"), 10_000_000, 'an error that is caught ends it, too');
is(process_row($node, $pid)->{sample_interval}, $interval, 'and samples are as before');
like($session->query_safe("$function('SELECT array_agg(text) FROM rows')"), qr/Leakhunt Most: .* in ExprContext, at \w+/, 'and the next one is explained');

# beside auto_explain
my $beside = 'LOAD $$auto_explain$$; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_nested_statements = on' =~ s/\$\$/'/gr;
SKIP:
{
	skip 'auto_explain is not installed', 1 if ($node->psql('postgres', $beside))[0] != 0;
	cmp_ok(held(explained('SELECT sum(keeps(1000)), array_agg(text) FROM rows WHERE id <= 1000', $beside), 'Aggregate'), '>', 1_000_000, 'beside auto_explain, which has nested statements instrumented');
}

# as an option
if ($version >= 180000)
{
	like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, LEAKHUNT, COSTS OFF) SELECT array_agg(text) FROM rows'), qr/^ +Leakhunt: .*\n +Leakhunt Most: .*\n.*\nLeakhunt Statement: /ms, 'the option says the same');
	unlike($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, LEAKHUNT off) SELECT 1'), qr/Leakhunt/, 'it can be off');
	like(($node->psql('postgres', 'EXPLAIN (LEAKHUNT) SELECT 1'))[2], qr/EXPLAIN option LEAKHUNT requires ANALYZE/, 'it needs ANALYZE');
	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, LEAKHUNT, COSTS OFF) SELECT count(*) FROM pg_leakhunt_explain_analyze('SELECT 1')"), qr/Leakhunt Statement/, 'one within is not watched');
}

# who may, and what a role without privileges takes of the profile
like(($node->psql('postgres', "CREATE ROLE clerk; SET ROLE clerk; $function('SELECT 1')"))[2], qr/permission denied for function pg_leakhunt_explain_analyze/, 'by default only superusers may');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION pg_leakhunt_explain_analyze TO clerk');
like(($node->psql('postgres', "SET ROLE clerk; $function('SELECT * FROM rows')"))[2], qr/permission denied for table rows/, 'the statement runs with the rights of the caller');

$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'and nothing crashed');
done_testing();
