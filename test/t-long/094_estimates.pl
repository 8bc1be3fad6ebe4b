# Estimates of statements against what these hold when they run: no node that has a bound
# exceeds it, in the leader and in each worker, with little and with more work_mem; and
# what is told of calls that were seen is what they took, within the error.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use JSON::PP;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;
use TpcH;

# Each allocation is a sample, so that figures are exact.
my $node = new_server('main', "autovacuum = off\njit = off\nmax_parallel_workers_per_gather = 0\nhash_mem_multiplier = 1\npg_leakhunt.sample_interval = 1\npg_leakhunt.max_profile_size = 64MB\nlogging_collector = off\nmax_parallel_workers = 8\nparallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\n");

$node->safe_psql('postgres', tpch_tables(3000));
$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT g AS id, g % 3000 AS few, g % 2 AS two, (g * 7919) % 20000 AS mixed, 'row ' || g AS text, (g % 97)::numeric AS number FROM generate_series(1, 20000) g;
	CREATE INDEX rows_few ON rows (few);
	CREATE INDEX rows_mixed ON rows (mixed);
	CREATE TABLE left_parts (id int, value text) PARTITION BY HASH (id);
	CREATE TABLE right_parts (id int, value text) PARTITION BY HASH (id);
	SELECT format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s_parts FOR VALUES WITH (MODULUS 8, REMAINDER %2$s)', side, g)
		FROM generate_series(0, 7) g, unnest('{left,right}'::text[]) side \gexec
	INSERT INTO left_parts SELECT id, text FROM rows;
	INSERT INTO right_parts SELECT id, text FROM rows;
	CREATE TABLE wide AS SELECT g AS id, repeat('x', 1900) AS padding FROM generate_series(1, 6000) g;
	CREATE INDEX wide_id ON wide (id);
	CREATE TABLE target (id int, text text);
	ANALYZE});
$node->safe_psql('postgres', 'VACUUM rows');

# In the manner of PostgreSQL's own tests of joins, aggregates, grouping sets, sorts,
# windows, set operations, CTEs, bitmaps, Memoize and parallel plans.
my @statements = (
	'SELECT count(*) FROM rows a JOIN rows b USING (id)',
	'SELECT count(*), max(a.text) FROM rows a FULL JOIN rows b ON a.id = b.mixed',
	'SELECT count(*) FROM rows a LEFT JOIN rows b ON a.mixed = b.id WHERE b.id IS NULL',
	'SELECT count(*) FROM rows a WHERE EXISTS (SELECT FROM rows b WHERE b.mixed = a.id AND b.two = 1)',
	'SELECT count(*) FROM (rows a JOIN rows b USING (id)) JOIN rows c USING (id)',
	'SELECT few, count(*), sum(number), avg(number), max(text) FROM rows GROUP BY few',
	'SELECT id, min(text), sum(id), variance(number) FROM rows GROUP BY id',
	'SELECT text, count(*) FROM rows GROUP BY text ORDER BY 2 DESC LIMIT 5',
	'SELECT count(DISTINCT text), count(DISTINCT mixed) FROM rows',
	'SELECT few, count(DISTINCT mixed), percentile_cont(0.5) WITHIN GROUP (ORDER BY mixed) FROM rows GROUP BY few',
	'SELECT two, percentile_disc(0.9) WITHIN GROUP (ORDER BY text), mode() WITHIN GROUP (ORDER BY few) FROM rows GROUP BY two',
	'SELECT few, two, mixed, count(*) FROM rows GROUP BY GROUPING SETS ((few), (two), (mixed), ())',
	'SELECT few, two, count(*), sum(number) FROM rows GROUP BY CUBE (few, two)',
	'SELECT few, two, id, count(*) FROM rows GROUP BY ROLLUP (few, two, id)',
	'SELECT * FROM rows ORDER BY text, id',
	'SELECT mixed FROM rows ORDER BY mixed % 1000',
	'SELECT * FROM rows ORDER BY text DESC LIMIT 100',
	'SELECT * FROM rows ORDER BY few, text',
	'SELECT * FROM (SELECT * FROM rows ORDER BY few OFFSET 0) s ORDER BY few, mixed LIMIT 10000',
	'SELECT id, rank() OVER (PARTITION BY two ORDER BY mixed), sum(number) OVER (PARTITION BY two) FROM rows',
	'SELECT id, lag(text, 100) OVER (ORDER BY mixed), count(*) OVER (ORDER BY mixed) FROM rows',
	'SELECT text FROM rows WHERE two = 0 UNION SELECT text FROM rows WHERE few < 100',
	'SELECT DISTINCT text, mixed FROM rows',
	'SELECT few FROM rows INTERSECT SELECT mixed FROM rows',
	'WITH c AS MATERIALIZED (SELECT * FROM rows) SELECT count(*) FROM c a JOIN c b USING (id)',
	'WITH RECURSIVE r(n, t) AS (SELECT 1, text FROM rows WHERE id < 500 UNION ALL SELECT n + 1, t FROM r WHERE n < 10) SELECT count(*) FROM r',
	'WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 3000) SELECT count(*) FROM r',
	'SELECT count(*) FROM generate_series(1, 50000) g JOIN rows ON g = id',
	'SELECT count(*) FROM rows a, generate_series(1, 2000) g(n), generate_series(1, 3) h WHERE a.id = n',
	'SELECT count(text) FROM rows WHERE few < 2500',
	'SELECT count(text) FROM rows WHERE few < 500 OR mixed < 4000',
	'SELECT count(text) FROM rows WHERE few < 1000 AND mixed < 10000',
	'SELECT count(padding) FROM wide WHERE id < 5500',
	'SELECT count(*) FROM rows a, LATERAL (SELECT b.text FROM rows b WHERE b.few = a.few OFFSET 0) s WHERE a.id < 2000',
	'SELECT count(b.text) FROM (SELECT id FROM rows WHERE id < 20) a LEFT JOIN (SELECT id, text FROM rows WHERE id <= 5000) b ON a.id <> b.id',
	'SELECT (SELECT max(b.text) FROM rows b WHERE b.few = a.few) FROM rows a WHERE id < 500',
	'SELECT count(*) FROM rows WHERE id NOT IN (SELECT id + 100000 FROM rows WHERE id < 300)',
	'SELECT count(*) FROM left_parts JOIN right_parts USING (id)',
	'SELECT id, count(*) FROM left_parts GROUP BY id',
	'SELECT array_agg(text), string_agg(text, \',\') FROM rows',
	'INSERT INTO target SELECT id, text FROM rows ORDER BY text RETURNING id',
	'MERGE INTO target t USING (SELECT DISTINCT id, text FROM rows) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.text)');

# Further settings of a run, and what they are for.
my %runs = (
	'64 kB' => "SET work_mem = '64kB'",
	'64 kB, hash joins' => "SET work_mem = '64kB'; SET hash_mem_multiplier = 2; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_sort = off",
	'1 MB' => "SET work_mem = '1MB'; SET enable_partitionwise_join = on; SET enable_partitionwise_aggregate = on",
	'4 MB, bitmaps' => "SET work_mem = '4MB'; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_nestloop = off",
	'64 kB, bitmaps' => "SET work_mem = '64kB'; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_nestloop = off",
	'64 kB, workers' => "SET work_mem = '64kB'; SET max_parallel_workers_per_gather = 2",
	'1 MB, workers' => "SET work_mem = '1MB'; SET max_parallel_workers_per_gather = 3; SET parallel_leader_participation = off; SET enable_mergejoin = off; SET enable_nestloop = off",
	'256 kB, workers, no parallel hash' => "SET work_mem = '256kB'; SET max_parallel_workers_per_gather = 2; SET enable_parallel_hash = off; SET enable_mergejoin = off; SET enable_nestloop = off");

# All nodes of a plan, in the order in which they are printed.
sub nodes
{
	my ($plan) = @_;
	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

# What each process that ran a node held of it at most.
sub amounts
{
	my ($told) = @_;
	return ($told->{'Highest Bytes'}, map { $_->{'Highest Bytes'} // () } @{ $told->{Workers} // [] });
}

# The estimates of statements, and what these then held, in one session, whose caches planning
# has filled.
sub estimated_and_held
{
	my ($settings, @statements) = @_;
	my $script = "$settings;\n";

	$script .= "\\echo the estimate\nSELECT json_agg(e) FROM pg_leakhunt_estimate(\$q\$$_\$q\$) e;\nBEGIN;\n\\echo the plan\nSELECT pg_leakhunt_explain_analyze(\$q\$$_\$q\$, 'FORMAT JSON, TIMING OFF');\nROLLBACK;\n" for @statements;
	my (undef, @parts) = split /^the (?:estimate|plan)\n/m, $node->safe_psql('postgres', $script);

	return map { [ decode_json($parts[ 2 * $_ ]), decode_json($parts[ 2 * $_ + 1 ])->[0] ] } 0 .. $#statements;
}

# The rows of CTEs are made by whichever scan comes first: scans count together.
sub by_cte
{
	my ($rows, $nodes) = @_;
	my ($first, $sum) = (undef, 0);

	for my $i (grep { $nodes->[$_]{'Node Type'} eq 'CTE Scan' } 0 .. $#$nodes)
	{
		$sum += $nodes->[$i]{Leakhunt}{'Highest Bytes'};
		$first //= $rows->[$i];
	}
	return ($first, $sum);
}

my ($bounded, $unknown, %kinds) = (0, 0);

# Which nodes held more than their bound?
sub excesses
{
	my ($rows, $plan) = @_;
	my @estimates = grep { defined $_->{node_id} } @$rows;
	my @nodes = nodes($plan->{Plan});
	my @wrong;

	return "the plan has other nodes" unless @estimates == @nodes;
	for my $i (0 .. $#nodes)
	{
		my $is = $estimates[$i];
		my ($highest) = sort { $b <=> $a } amounts($nodes[$i]{Leakhunt});

		$unknown++ if $is->{kind} eq 'not known';
		next if $is->{kind} ne 'settings' || !$is->{bytes};
		my $bound = $is->{bytes} / $is->{processes};
		my $kind = $nodes[$i]{'Node Type'};

		# the first run of a join whose table is shared is watched as one of the node above
		$bound += $estimates[ $i + 1 ]{bytes} / $is->{processes} if $i < $#nodes && $nodes[ $i + 1 ]{'Node Type'} eq 'Hash Join' && $nodes[ $i + 1 ]{'Parallel Aware'};

		$bounded++;
		$kinds{$kind} = $highest / $bound if ($kinds{$kind} // 0) < $highest / $bound;
		push @wrong, "$kind held $highest of $bound" if $highest > $bound;
	}
	my ($cte, $held) = by_cte(\@estimates, \@nodes);

	push @wrong, "the CTE held $held of $cte->{bytes}" if $cte && $cte->{bytes} && $held > $cte->{bytes};
	my ($sum) = map { $_->{bytes} } grep { $_->{kind} eq 'at most' } @$rows;
	my $parts = 0;

	$parts += $_->{bytes} // 0 for grep { $_->{kind} =~ /^(shared memory|planner|executor|settings|not known|some kB)$/ } @$rows;
	push @wrong, "the sum is $sum instead of $parts" if $sum != $parts;
	return @wrong;
}

for my $run (sort keys %runs)
{
	my @tried = (@statements, tpch_queries());
	my @found = estimated_and_held($runs{$run}, @tried);
	my @wrong;

	for my $i (0 .. $#tried)
	{
		push @wrong, map { "$_: " . substr($tried[$i], 0, 120) } excesses(@{ $found[$i] });
	}
	is(join("\n", @wrong), '', "$run: no node of " . @tried . ' statements held more than its bound');
}
note(sprintf '%s: at most %.2f of its bound', $_, $kinds{$_}) for sort keys %kinds;
note("$bounded nodes had a bound, of $unknown it was not known");
cmp_ok($bounded, '>', 1000, 'most nodes that hold much have a bound');
cmp_ok($kinds{$_} // 0, '>', 0.3, "that of $_ is no more than three times what it may hold") for 'Hash', 'Sort', 'Aggregate', 'WindowAgg', 'Materialize', 'Bitmap Index Scan';

# What calls have taken.  Statements of one shape are one, whatever their numbers are: most
# of the calls sort half of the rows, the others all.
my $sorts = 'SELECT count(*) FROM (SELECT * FROM rows, generate_series(1, 4) WHERE id <= %d ORDER BY text OFFSET 0) s';
my $reset = 'SELECT pg_leakhunt_statements_reset()';

# The rows of an estimate that are of one of these kinds, in a session with these settings.
sub rows_of
{
	my ($settings, $statement, $kinds) = @_;
	return @{ decode_json($node->safe_psql('postgres', "$settings;\nSELECT coalesce(json_agg(e), '[]') FROM pg_leakhunt_estimate(\$q\$$statement\$q\$) e WHERE kind ~ '^($kinds)\$'")) };
}

for my $ids ('off', 'on')
{
	my $settings = "SET work_mem = '64MB'; SET compute_query_id = $ids";
	my %held;

	$node->safe_psql('postgres', $reset);
	for my $rows (10000, 20000)
	{
		my $plan = $node->safe_psql('postgres', "$settings; SELECT pg_leakhunt_explain_analyze('" . sprintf($sorts, $rows) . "', 'FORMAT JSON, TIMING OFF')");
		$held{$rows} = decode_json($plan)->[0]{Leakhunt}{'Peak Bytes'};
	}
	is((rows_of($settings, sprintf($sorts, 1), 'seen'))[0]{explanation}, 'none of at least 1024 kB', "query ids $ids: before its calls nothing is told of them");
	$node->safe_psql('postgres', "$settings;\n" . join(";\n", map { sprintf $sorts, $_ } (10000) x 3, (20000) x 2));
	my ($median, $highest) = rows_of($settings, sprintf($sorts, 7), 'median|highest');

	is($median->{calls}, 5, "query ids $ids: all calls of the statement are counted");
	# what one call allocates and another finds in a cache is not the statement's
	cmp_ok(abs($median->{bytes} - $held{10000}), '<=', $median->{error_bytes} + 200_000, "query ids $ids: the median is that of the middle call, within the error");
	cmp_ok(abs($highest->{bytes} - $held{20000}), '<=', $highest->{error_bytes} + 200_000, "query ids $ids: the highest is that of the largest call");
	cmp_ok($median->{error_bytes}, '<', $median->{bytes} / 4, "query ids $ids: the error of the median is no more than a quarter");
}
$node->safe_psql('postgres', 'CREATE ROLE other');
is(join(' ', map { $_->{explanation} } rows_of("SET compute_query_id = on; SET ROLE other", 'SELECT count(*) FROM (SELECT 1) s', 'seen|median')), 'none of at least 1024 kB', 'another role is told of none of its own');
$node->safe_psql('postgres', 'GRANT SELECT ON rows TO other');
is((rows_of("SET compute_query_id = on; SET ROLE other", sprintf($sorts, 7), 'seen|median'))[0]{kind}, 'seen', 'a role does not see what calls of others have taken');
is((rows_of("SET compute_query_id = on", sprintf($sorts, 7), 'seen|median'))[0]{kind}, 'median', 'one with the privileges does');

done_testing();
