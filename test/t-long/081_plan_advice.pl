# What doc/plan.md says to change, by each row of its table: the plan is made, the answer
# is what the row says that one sees, and each thing that it says to change makes the
# figure fall.  A row without a test here is a failure, and so is a test without a row.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use JSON::PP;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# Each allocation is a sample, so that figures are exact.
my $node = new_server('main', "autovacuum = off\nmax_parallel_workers_per_gather = 0\njit = off\nwork_mem = '4MB'\nhash_mem_multiplier = 1\npg_leakhunt.sample_interval = 1\nlogging_collector = off\n");

$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT g AS id, g % 2000 AS few, 1 AS one, repeat('x', 40) || g AS text FROM generate_series(1, 20000) g;
	CREATE TABLE skewed AS SELECT id AS one, text FROM rows LIMIT 10000;
	CREATE TABLE left_parts (id int, value text) PARTITION BY HASH (id);
	CREATE TABLE right_parts (id int, value text) PARTITION BY HASH (id);
	SELECT format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s_parts FOR VALUES WITH (MODULUS 8, REMAINDER %2$s)', side, g)
		FROM generate_series(0, 7) g, unnest('{left,right}'::text[]) side \gexec
	INSERT INTO left_parts SELECT id, text FROM rows;
	INSERT INTO right_parts SELECT id, text FROM rows;
	CREATE TABLE listed (id int, value text) PARTITION BY LIST (id);
	SELECT format('CREATE TABLE listed_%1$s PARTITION OF listed FOR VALUES IN (%1$s)', g) FROM generate_series(0, 99) g \gexec
	CREATE FUNCTION keeps(bytes int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(bytes, 1); RETURN 1; END $$;
	CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
	CREATE FUNCTION leaking() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(1000, 1); RETURN NULL; END $$;
	SELECT format('CREATE TABLE %1$s_%2$s (a int); CREATE TRIGGER after AFTER INSERT ON %1$s_%2$s FOR EACH %2$s EXECUTE FUNCTION %1$s()', name, level)
		FROM unnest('{nothing,leaking}'::text[]) name, unnest('{row,statement}'::text[]) level \gexec
	ANALYZE});
# Statistics of before all rows got the same value; without what updated rows would leave.
$node->safe_psql('postgres', 'UPDATE skewed SET one = 1');
$node->safe_psql('postgres', 'VACUUM FULL skewed');

# The plan of a statement, as JSON tells it; settings, and other statements, come before.
sub explained
{
	my ($query, $before) = @_;

	my $output = $node->safe_psql('postgres', join "\n", ($before ? "$before;" : ()), '\echo the plan', "SELECT pg_leakhunt_explain_analyze(\$q\$$query\$q\$, 'FORMAT JSON, TIMING OFF')");

	return decode_json($output =~ s/.*^the plan\n//msr)->[0];
}

# All nodes of a plan; the largest of a type, or of any; and what it held at most.
sub nodes
{
	my ($plan) = @_;
	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}
sub largest
{
	my ($explained, $type) = @_;
	my @found = sort { $b->{Leakhunt}{'Highest Bytes'} <=> $a->{Leakhunt}{'Highest Bytes'} } grep { !$type || $_->{'Node Type'} eq $type } nodes($explained->{Plan});

	return $found[0] // { Leakhunt => { 'Highest Bytes' => 0, 'Times Allowed' => 0 } };
}
sub held_by { my ($type) = @_; return sub { largest($_[0], $type)->{Leakhunt}{'Highest Bytes'} } }
sub of_statement { my ($figure) = @_; return sub { $_[0]{Leakhunt}{$figure} } }
sub of_nodes { return of_statement('Nodes Bytes') }
sub of_workers { my $sum = 0; $sum += $_->{'Peak Bytes'} for @{ $_[0]{Leakhunt}{Workers} // [] }; return $sum }

# What one sees: conditions for try_row.
sub near_allowed { my ($type) = @_; return sub { my $times = largest($_[0], $type)->{Leakhunt}{'Times Allowed'}; $times > 0.5 && $times < 1.3 } }
sub beyond_by
{
	my ($type, $what, $pattern) = @_;
	return sub { my $told = largest($_[0], $type)->{Leakhunt}; $told->{'Times Allowed'} > 2 && $told->{$what} =~ $pattern };
}

# Try a row that begins with that cell: a query and what comes before it, what one is to
# see, the figure that is to fall, and for each change its name, and what comes before the
# query then, or another query.
my %tried;
sub try_row
{
	my ($cell, $query, $before, $seen, $figure, @changes) = @_;
	my $explained = explained($query, $before);
	my $high = $figure->($explained);

	$tried{$cell} = 1;
	ok($seen->($explained), "$cell: it is so") or diag(JSON::PP->new->pretty->canonical->encode($explained));
	for my $change (@changes)
	{
		my $changed = explained($change->[2] // $query, $change->[1]);
		my $low = $figure->($changed);

		cmp_ok($low, '<', $high * 0.75, "$cell: $change->[0] makes $high less")
		  or diag(JSON::PP->new->pretty->canonical->encode($changed));
	}
}

is(explained('SELECT 1')->{Leakhunt}{'Sample Interval'}, 1, 'the answer says that each allocation is a sample');

my $hash_only = 'SET enable_mergejoin = off; SET enable_nestloop = off';
my $hashed = 'SET enable_sort = off';
my $join = 'SELECT count(b.text) FROM rows a JOIN rows b USING (id)';

my $cell = 'one `Sort`, `Hash`, `Materialize` or `Aggregate` near 1 times what is allowed';
my $materialize = 'SELECT count(b.text) FROM (SELECT id FROM rows WHERE id < 20) a LEFT JOIN (SELECT id, text FROM rows) b ON a.id <> b.id';
my $group = 'SELECT text, count(*) FROM rows GROUP BY text';
for my $node (
	[ 'Sort', 'SELECT * FROM rows ORDER BY text', '', '1MB', '256kB' ],
	[ 'Hash', $join, "$hash_only;", '2MB', '512kB' ],
	[ 'Materialize', $materialize, '', '700kB', '256kB' ],
	[ 'Aggregate', $group, "$hashed;", '2MB', '512kB' ])
{
	my ($type, $query, $how, $much, $less) = @$node;
	try_row($cell, $query, "$how SET work_mem = '$much'", near_allowed($type), held_by($type), [ 'less work_mem', "$how SET work_mem = '$less'" ]);
}

# of 3 MB, as many nodes may have a third each
my $joins = 'SELECT count(*) FROM rows a JOIN rows b USING (id) JOIN rows c USING (id) JOIN rows d USING (id)';
my $least = 900 * 1024;
try_row('many nodes, each below 1 times, and a large sum', $joins, $hash_only,
	sub { largest($_[0])->{Leakhunt}{'Times Allowed'} < 1 && $_[0]{Leakhunt}{'Nodes Bytes'} > 3 * $least }, of_nodes(),
	[ 'work_mem of a part for each', "$hash_only; SET work_mem = '" . int($least / 3 / 1024) . "kB'" ]);
cmp_ok(explained($joins, "$hash_only; SET work_mem = '" . int($least / 3 / 1024) . "kB'")->{Leakhunt}{'Nodes Bytes'}, '<', $least * 1.25, 'and the sum is what the statement may take');

$cell = 'a `Hash` or hashed `Aggregate` takes much more than sorts do';
for my $node ([ 'Hash', $join, $hash_only ], [ 'Aggregate', $group, $hashed ])
{
	my ($type, $query, $how) = @$node;
	$how .= "; SET work_mem = '512kB'; SET hash_mem_multiplier =";
	try_row($cell, $query, "$how 4", sub { largest($_[0], $type)->{Leakhunt}{'Highest Bytes'} > 2 * 512 * 1024 }, held_by($type), [ 'hash_mem_multiplier', "$how 1" ]);
}

my $batches = 'SELECT count(b.text) FROM generate_series(1, 40000) a JOIN (SELECT * FROM rows UNION ALL SELECT * FROM rows) b ON a = b.id';
my @no_hash_join = ('no hash join', "SET enable_hashjoin = off; SET work_mem = '64kB'");
$cell = 'a `Hash` or its `Hash Join` far beyond 1 times, most of it by `BufFileCreateTemp` or others of `buffile.c`';
$tried{$cell} = 1;
my $by_value = 'a `Hash` far beyond 1 times, most of it in `HashBatchContext`';
if (ask($node, 'SHOW server_version_num') < 180000)
{
	try_row($cell, $batches, "$hash_only; SET work_mem = '64kB'",
		sub { beyond_by('Hash', 'Site', qr/BufFile/)->($_[0]) || beyond_by('Hash Join', 'Site', qr/BufFile/)->($_[0]) }, of_nodes(),
		[ 'more work_mem', "$hash_only; SET work_mem = '256kB'" ], \@no_hash_join);
}
else
{
	try_row($by_value, $batches, "$hash_only; SET work_mem = '64kB'", beyond_by('Hash', 'Context', qr/^HashBatchContext$/), held_by('Hash'), \@no_hash_join);
}

my $skew = 'SELECT count(s.text) FROM rows JOIN skewed s ON s.one = rows.id';
try_row($by_value, $skew, "$hash_only; SET work_mem = '128kB'", beyond_by('Hash', 'Context', qr/^HashBatchContext$/), of_nodes(),
	[ 'a filter', "$hash_only; SET work_mem = '128kB'", "$skew WHERE s.one <> 1" ], [ 'no hash join', "SET enable_hashjoin = off; SET enable_nestloop = off; SET work_mem = '128kB'" ]);

$cell = 'many joins or aggregates below one `Append`';
for my $case (
	[ 'enable_partitionwise_join', 'Hash', $hash_only, 'SELECT count(right_parts.value) FROM left_parts JOIN right_parts USING (id)' ],
	[ 'enable_partitionwise_aggregate', 'Aggregate', $hashed, 'SELECT id, max(value) FROM left_parts GROUP BY id' ])
{
	my ($setting, $type, $how, $query) = @$case;
	try_row($cell, $query, "$how; SET work_mem = '512kB'; SET $setting = on",
		sub { (grep { $_->{'Node Type'} eq $type } nodes($_[0]{Plan})) >= 8 && largest($_[0], $type)->{Leakhunt}{'Times Allowed'} < 1 }, of_nodes(),
		[ "$setting = off", "$how; SET work_mem = '512kB'; SET $setting = off" ], [ 'less work_mem', "$how; SET work_mem = '64kB'; SET $setting = on" ]);
}

my $parallel = "$hash_only; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather =";
$cell = '*Leakhunt Workers* is several times the leader';
my $of_all = sub { $_[0]{Leakhunt}{'Peak Bytes'} + of_workers($_[0]) };
my $with_shared = sub { my $hash = largest($_[0], 'Hash'); $of_all->($_[0]) + ($hash->{Leakhunt}{'Shared Hash Table'} ? $hash->{'Peak Memory Usage'} * 1024 : 0) };
define_fixture($node, 'meeting');
my $shared = 'SELECT count(b.text), max(meet(3)) FROM rows a JOIN rows b USING (id)';
try_row($cell, $shared, "$parallel 3; SET enable_parallel_hash = off; SET parallel_leader_participation = off",
	sub { of_workers($_[0]) > 2 * $_[0]{Leakhunt}{'Peak Bytes'} }, $with_shared,
	[ 'no workers', "$parallel 0", $join ], [ 'enable_parallel_hash', "$parallel 3; SET enable_parallel_hash = on; SET parallel_leader_participation = off" ]);

my $aggregate = 'SELECT array_agg(text) FROM rows';
try_row('an `Aggregate` beyond 1 times, most of it by `array_agg_transfn`, `array_agg_finalfn` or the like', $aggregate, "SET work_mem = '512kB'", beyond_by('Aggregate', 'Site', qr/array_agg|ArrayResult|construct_md_array|datumCopy/), of_nodes(),
	[ 'a LIMIT', "SET work_mem = '512kB'", 'SELECT array_agg(text) FROM (SELECT text FROM rows LIMIT 1000) s' ],
	[ 'a smaller column', "SET work_mem = '512kB'", 'SELECT array_agg(id) FROM rows' ], [ 'a GROUP BY', "SET work_mem = '512kB'", 'SELECT few, array_agg(text) FROM rows GROUP BY few' ]);

try_row('a node, most of it by a routine of PL/pgSQL or an extension', 'SELECT sum(keeps(1000)) FROM generate_series(1, 1000) g', undef,
	sub { my $told = largest($_[0])->{Leakhunt}; $told->{Routine} =~ /keeps\(integer\) line 1$/ && $told->{Site} =~ /^leaking_top/ }, of_nodes());
like(ask($node, q{SELECT site FROM pg_leakhunt_check('SELECT keeps(1000)') LIMIT 1}), qr/^leaking_top/, 'pg_leakhunt_check says that it leaks');

SKIP:
{
	$cell = '`Foreign Scan`';
	$tried{$cell} = 1;
	skip 'postgres_fdw is not installed', 1 if !ask($node, "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	$node->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $node->host . "', port '" . $node->port . "', dbname 'postgres', fetch_size '10000');
		CREATE USER MAPPING FOR PUBLIC SERVER loop; CREATE FOREIGN TABLE foreign_rows (id int, few int, one int, text text) SERVER loop OPTIONS (table_name 'rows')");
	my $foreign = 'SELECT count(*) FROM foreign_rows WHERE random() < 2';
	try_row($cell, $foreign, undef, sub { largest($_[0])->{'Node Type'} eq 'Foreign Scan' }, held_by('Foreign Scan'),
		[ 'fetch_size of the server', "ALTER SERVER loop OPTIONS (SET fetch_size '100')" ], [ 'fetch_size of the table', "ALTER SERVER loop OPTIONS (SET fetch_size '10000'); ALTER FOREIGN TABLE foreign_rows OPTIONS (ADD fetch_size '100')" ]);
}

$cell = '`WindowAgg`, `CTE Scan`, `Function Scan`';
my $window = 'SELECT sum(n), max(m) FROM (SELECT count(*) OVER (PARTITION BY one) n, max(text) OVER (PARTITION BY one) m FROM rows) s';
my $cte = 'WITH c AS MATERIALIZED (SELECT * FROM rows) SELECT count(*) FROM c a JOIN c b USING (id) WHERE a.text >= b.text';
my $series = 'SELECT count(*) FROM generate_series(1, 50000) g';
my $is_node = sub { my ($type) = @_; return sub { largest($_[0], $type)->{Leakhunt}{'Highest Bytes'} > 500_000 } };
my $less = "SET work_mem = '256kB'";
try_row($cell, $window, undef, $is_node->('WindowAgg'), held_by('WindowAgg'), [ 'less work_mem', $less ]);
try_row($cell, $cte, $hash_only, $is_node->('CTE Scan'), of_nodes(), [ 'less work_mem', "$hash_only; $less" ]);
try_row($cell, $cte, $hash_only, $is_node->('CTE Scan'), held_by('CTE Scan'), [ 'NOT MATERIALIZED', $hash_only, $cte =~ s/MATERIALIZED/NOT MATERIALIZED/r ]);
try_row($cell, $series, undef, $is_node->('Function Scan'), of_nodes(), [ 'less work_mem', $less ], [ 'in the SELECT list', undef, 'SELECT count(*) FROM (SELECT generate_series(1, 50000)) g' ]);

try_row('`ModifyTable` (`Insert`, `Update`, `Delete`), most of it in `AfterTriggerEvents`', 'INSERT INTO nothing_row SELECT generate_series(1, 20000)', undef,
	sub { largest($_[0])->{'Node Type'} eq 'ModifyTable' && largest($_[0])->{Leakhunt}{Context} eq 'AfterTriggerEvents' }, held_by('ModifyTable'),
	[ 'fewer rows', undef, 'INSERT INTO nothing_row SELECT generate_series(1, 2000)' ], [ 'FOR EACH STATEMENT', undef, 'INSERT INTO nothing_statement SELECT generate_series(1, 20000)' ]);
try_row('*by the executor\'s end and AFTER triggers*', 'INSERT INTO leaking_row SELECT generate_series(1, 1000)', undef,
	sub { $_[0]{Leakhunt}{'Executor End Bytes'} > 1_000_000 }, of_statement('Executor End Bytes'), [ 'FOR EACH STATEMENT', undef, 'INSERT INTO leaking_statement SELECT generate_series(1, 1000)' ]);

# once the server's caches are filled
my $warm = 'SELECT count(*) FROM listed';
my $one = 'SELECT * FROM listed WHERE id = 5';
for my $stage ([ '*by the planner*', 'Planner Bytes' ], [ '*by the executor\'s start*', 'Executor Start Bytes' ])
{
	my ($name, $figure) = @$stage;
	try_row($name, $one, "$warm; SET enable_partition_pruning = off", sub { $_[0]{Leakhunt}{$figure} > 100_000 }, of_statement($figure),
		[ 'enable_partition_pruning', $warm ]);
	try_row($name, 'SELECT * FROM listed', $warm, sub { $_[0]{Leakhunt}{$figure} > 100_000 }, of_statement($figure), [ 'a condition', $warm, 'SELECT * FROM listed WHERE id < 10' ]);
}
my $prepared = "$warm; PREPARE p(int) AS SELECT * FROM listed WHERE id < \$1; EXECUTE p(1); SET plan_cache_mode =";
my $many_joins = 'SELECT count(*) FROM rows a ' . join(' ', map { "JOIN rows b$_ USING (id)" } 1 .. 7) . ' WHERE a.id < 10';
my $planner = of_statement('Planner Bytes');
try_row('*by the planner*', 'EXECUTE p(100)', "$prepared force_custom_plan; EXECUTE p(100)", sub { $planner->($_[0]) > 100_000 }, $planner, [ 'plan_cache_mode', "$prepared force_generic_plan; EXECUTE p(100)" ]);
try_row('*by the planner*', $many_joins, undef, sub { $planner->($_[0]) > 1_000_000 }, $planner, [ 'join_collapse_limit', 'SET join_collapse_limit = 1' ]);

# the document's table
my ($table) = slurp_file("$FindBin::RealBin/../../doc/plan.md") =~ /## What to change\n\n\|.*\n\|[-|]*\n((?:\|.*\n)+)/;
my @cells = map { /^\| (.*?) \|/ } split /\n/, $table;
cmp_ok(scalar(@cells), '>=', 15, 'the table of doc/plan.md is there');
is_deeply([ sort keys %tried ], [ sort @cells ], 'each of its rows is tried, and nothing else');

$node->stop;
done_testing();
