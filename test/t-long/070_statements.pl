# What statements take: in all sessions, ended ones included.  Needs sessions that end,
# parallel workers, many sessions at once, processes that are killed, and roles.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
shared_preload_libraries = 'pg_stat_statements, pg_leakhunt'
compute_query_id = on
restart_after_crash = on
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
CONF
$node->safe_psql('postgres', q{
	CREATE TABLE numbers AS SELECT i, i::text || repeat('x', 50) AS t FROM generate_series(1, 200000) i;
	VACUUM ANALYZE numbers;
	CREATE FUNCTION gathers(n int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE numbers int[];
	BEGIN
		SELECT array_agg(i) INTO numbers FROM generate_series(1, n) i;
		RETURN array_length(numbers, 1);
	END$$;
	CREATE ROLE plain LOGIN;
	ALTER ROLE plain SET pg_leakhunt.sample_interval = 1;
	GRANT SELECT ON numbers TO plain});

# Settings and statements, by what they are about.
my $settings = q{SET work_mem = '64MB'; SET maintenance_work_mem = '64MB'};
my $parallel = q{SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_parallel_hash = off};
my @statements = (
	[ 'hash join', 'SELECT count(*) FROM numbers a JOIN numbers b USING (t)', qr/^HashBatchContext|^HashTableContext/ ],
	[ 'sort', 'SELECT count(*) FROM (SELECT t FROM numbers ORDER BY t DESC OFFSET 1) s', qr/^Caller tuples/ ],
	[ 'array_agg', 'SELECT array_length(array_agg(t), 1) FROM numbers', qr/^ExprContext|^accumArrayResult|Agg/ ],
	[ 'string_agg', "SELECT length(string_agg(t, ',')) FROM numbers", qr/./ ],
	[ 'function', 'SELECT gathers(1000000), 1', qr/./ ],
	[ 'parallel', 'SELECT count(*), min(a.i) FROM numbers a JOIN numbers b USING (t)', qr/^Hash/, $parallel ],
	[ 'index', 'CREATE INDEX numbers_t ON numbers (t)', qr/^Caller tuples/ ],
	[ 'copy', "COPY (SELECT repeat('x', 5000000)) TO '/dev/null'", qr/./ ],
);

sub run_all
{
	my ($interval) = @_;

	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS numbers_t');
	for my $statement (@statements)
	{
		my ($name, $sql, undef, $more) = @$statement;

		$node->safe_psql('postgres', join(';', "SET pg_leakhunt.sample_interval = $interval", $settings,
			$more // (), "SET enable_mergejoin = off") . ";\n" . ($sql =~ s{^\w+}{$& /* $name */}r));
	}
}

# A row of the view, by what the statement is about.
sub row_of
{
	my ($name, @columns) = @_;

	return split /\|/, ask($node, 'SELECT ' . join(', ', @columns)
		. " FROM pg_leakhunt_statements WHERE query LIKE '%/* $name */%' AND query NOT LIKE '%pg_leakhunt_statements%'"), -1;
}

# The sessions are over when somebody asks.
$node->safe_psql('postgres', 'SELECT pg_leakhunt_statements_reset()');
run_all(1);
my %peak;
for my $statement (@statements)
{
	my ($name, undef, $context) = @$statement;
	my ($calls, $mean, $max, $error, $has_time, $has_id, $stack, $kept) = row_of($name, 'calls', 'mean_peak_bytes', 'max_peak_bytes', 'error_bytes',
		"max_at BETWEEN now() - interval '1 hour' AND now()", 'query_id IS NOT NULL', 'site = ANY (stack)', 'kept_bytes');

	is($calls, 1, "$name: one call");
	is($mean, $max, "$name: of which the mean is the highest");
	is($error, 0, "$name: exact");
	is($has_time, 't', "$name: it has a time");
	is($has_id, 't', "$name: and a query id");
	is($stack, 't', "$name: and a stack with a site");
	cmp_ok($max, '>', 4_000_000, "$name: it took much");
	cmp_ok($kept, '<', 1_000_000, "$name: nothing of that stays");
	like((row_of($name, 'context_name'))[0], $context, "$name: in that context");
	$peak{$name} = $max;
}
like((row_of('function', 'routine'))[0], qr/^gathers\(integer\) line 4$/, 'a function that took it is named, with its line');
is((row_of('sort', 'routine IS NULL'))[0], 't', 'where there was none, none is');
cmp_ok($peak{parallel}, '>', 2 * $peak{'hash join'}, 'a parallel query has the peaks of its workers');

# as samples know them
$node->safe_psql('postgres', 'SELECT pg_leakhunt_statements_reset()');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_statements WHERE query LIKE '%/* %'"), 0, 'nothing is left after a reset');
run_all(65536);
for my $name (map { $_->[0] } @statements)
{
	my ($max, $error) = row_of($name, 'max_peak_bytes', 'error_bytes');

	cmp_ok($error, '>', 0, "$name: an estimate");
	is_estimate($max, $error, $peak{$name}, "$name: near the true peak");
}

# a sample stands for much, even of a statement that takes little
$node->safe_psql('postgres', "SET pg_leakhunt.sample_interval = '2MB';\n" . "SELECT /* little */ count(*) FROM pg_class a JOIN pg_class b USING (oid);\n" x 1000);
is((row_of('little', 'calls'))[0], undef, 'a statement that takes little is not counted by chance');

# the query of doc/reference.md
my ($join) = slurp_file("$FindBin::RealBin/../../doc/reference.md") =~ /^```\n(SELECT s\.max_peak_bytes.*?)^```/ms;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
$node->safe_psql('postgres', $_->[1]) for grep { $_->[0] =~ /agg/ } @statements;
my @joined = grep { m{/\* \w+_agg \*/} } split /\n/, $node->safe_psql('postgres', $join);
is(scalar(@joined), 2, 'statements are joined with those of pg_stat_statements');

# several calls, and what settings allow
my $run = "SET pg_leakhunt.sample_interval = 1; SET work_mem = '64kB'; SET hash_mem_multiplier = 1;";
my $gather = 'SELECT /* several */ 1, gathers(%d)';
$node->safe_psql('postgres', 'SELECT pg_leakhunt_statements_reset()');
$node->safe_psql('postgres', $run . join(';', map { sprintf $gather, $_ } 500_000, 1_000_000, 10, 500_000));
my ($calls, $mean, $max, $allowed, $beyond) = row_of('several', 'calls', 'mean_peak_bytes', 'max_peak_bytes', 'allowed_bytes', 'calls_beyond');
is($calls, 3, 'calls that take little do not count');
cmp_ok($mean, '<', $max, 'the mean is below the highest peak');
cmp_ok($mean, '>', $max / 3, 'the mean is of all that count');
is($allowed, 65536, 'what work_mem allowed');
is($beyond, 3, 'calls beyond twice of that');
is($node->safe_psql('postgres', "SELECT value FROM pg_leakhunt_metrics WHERE name = 'statement_peak_bytes' AND query LIKE 'SELECT /* several */ 1, gathers(%' AND query_id IS NOT NULL"),
	$max, 'its highest peak is a metric');

# a procedure that commits, and one that leaks
$node->safe_psql('postgres', q{
	CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 5 LOOP
			PERFORM gathers(200000 * i);
			COMMIT;
		END LOOP;
	END$$});
$node->safe_psql('postgres', "$run CALL /* procedure */ commits()");
is((row_of('procedure', 'calls'))[0], 1, 'a procedure that commits is one call');
my $leaking = $node->background_psql('postgres');
$leaking->query_safe("$run SELECT /* leak */ leak_top($_, 100);") for 20000, 20000, 30000;
my ($leaks, $kept, $most, $site) = row_of('leak', 'calls', 'kept_bytes', 'max_peak_bytes', 'site');
is($leaks, 3, 'each call of a leak counts');
is_near($kept, 500_000, 7_000_000, 'what they have left in the session is told');
$leaking->quit;
ok($node->poll_query_until('postgres', "SELECT kept_bytes = 0 FROM pg_leakhunt_statements WHERE query LIKE '%/* leak */%' AND query NOT LIKE '%pg_leakhunt%'"), 'and nothing of a session that has ended');
is_near($most, 500_000, 3_000_000, 'an older leak is no part of a peak');
like($site, qr/^leaking_top/, 'the site that held most is named');

# a statement that runs
my $session = $node->background_psql('postgres');
$session->query_safe($run);
$session->query_until(qr/begun/, "\\echo begun\nSELECT /* running */ gathers(1000000), 1, pg_sleep(1000);\n");
ok( $node->poll_query_until('postgres', "SELECT max_peak_bytes > 4000000 FROM pg_leakhunt_statements WHERE query LIKE '%/* running */%' AND query NOT LIKE '%pg_leakhunt%'"),
	'a statement is shown while it runs');
my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE '%/* running */%' AND pid <> pg_backend_pid()");

# a session whose statement is over, but no longer with most of what is known of it
my $told = $node->background_psql('postgres');
$told->query_safe("$run SET work_mem = '4MB'");
$told->query_safe('SELECT /* told */ gathers(12000000)');
my $explained = $node->safe_psql('postgres', 'SELECT explanation FROM pg_leakhunt_explain(' . $told->query_safe('SELECT pg_backend_pid()') . ')');
like($explained, qr{^(?:Its statements' highest peak of the last 24 hours: \d+ MB|At its sampled peak, .* (?:held about \d+ MB|about \d+ MB was allocated in )).*\n}m,
	'a session is told what its largest statement took');
unlike($explained, qr{for a hash table}, 'and nothing of hash tables, which it did not have');
like($explained, qr{(?:at|of) that peak: SELECT /\* told \*/ gathers\(12000000\)\W*$}m, 'and which that was');
$told->quit;

# roles
$node->safe_psql('postgres', "SELECT /* of plain */ array_length(array_agg(t), 1) FROM numbers", extra_params => [ '-U', 'plain' ]);
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT username, ',') FROM pg_leakhunt_statements", extra_params => [ '-U', 'plain' ]),
	'plain', 'a role sees its own statements');
my ($result, undef, $stderr) = $node->psql('postgres', 'SELECT pg_leakhunt_statements_reset()', extra_params => [ '-U', 'plain' ]);
like($stderr, qr/permission denied/, 'a role may not reset');
my ($database, $role, $id) = row_of('several', 'dbid', 'userid', 'query_id');
$node->safe_psql('postgres', "SELECT pg_leakhunt_statements_reset($role, $database, $id)");
is((row_of('several', 'calls'))[0], undef, 'one statement is reset');
is((row_of('procedure', 'calls'))[0], 1, 'others stay');
$node->safe_psql('postgres', "SELECT pg_leakhunt_statements_reset(userid => 'plain'::regrole)");
is((row_of('of plain', 'calls'))[0], undef, 'those of a role are reset');

# a process that is killed
my $log_at = -s $node->logfile;
kill 'KILL', $pid;
$node->wait_for_log(qr/database system is ready/, $log_at);
wait_for_server($node);
is((row_of('procedure', 'calls'))[0], 1, 'what was there before a crash is there after it');
cmp_ok((row_of('running', 'max_peak_bytes'))[0], '>', 4_000_000, 'what a process took that was killed is there');
$session->{run}->kill_kill;

# servers that stop, are killed, and find a file that is damaged
my @all = qw(query_id database username calls mean_peak_bytes max_peak_bytes error_bytes max_private_bytes max_at allowed_bytes calls_beyond kept_bytes context_name site routine stack);
my $row = join '|', row_of('procedure', @all);
$node->restart;
like($row, qr/gathers\(integer\) line 4\|.*gathers\(integer\) line 4.*commits\(\) line \d+/, 'its stack has the routines');
is(join('|', row_of('procedure', @all)), $row, 'a statement is as it was after a restart');
my $shared = profile_directory($node);
kill_server($node);
is(scalar(grep { /^statements/ } profile_files($shared)), 1, 'a server that is killed leaves its file');
$node->start;
is(join('|', row_of('procedure', @all)), $row, 'a statement is as it was after the server was killed');
my ($saved) = glob($node->data_dir . '/pg_leakhunt/statements.*');
for my $damage (
	[ 'changed', sub { my ($bytes) = @_; substr($bytes, -3000, 1) ^= 'x'; $bytes } ],
	[ 'cut', sub { substr($_[0], 0, 100_000) } ],
	[ 'empty', sub { '' } ],
	[ 'another', sub { 'x' x 200_000 } ])
{
	my ($what, $code) = @$damage;

	$node->safe_psql('postgres', "$run SELECT /* damaged */ gathers(1000000), 2, 3");
	$node->stop;
	my $bytes = $code->(slurp_file($saved));
	open my $file, '>:raw', $saved or die $!;
	print $file $bytes;
	close $file;
	$log_at = -s $node->logfile;
	$node->start;
	is((row_of('damaged', 'calls'))[0], undef, "$what: a damaged file is not used");
	like(slurp_file($node->logfile, $log_at), qr/pg_leakhunt ignores file ".*" of statements\n.*DETAIL:  It.*\n.*HINT:  It is kept as ".*damaged"/, "$what: the log says so");
}

# many statements, from many sessions
set_and_reload($node, 'pg_leakhunt.statement_min_bytes' => '0');
$node->append_conf('postgresql.conf', "pg_leakhunt.max_statements = 1000\nmax_connections = 220");
$node->restart;
$node->safe_psql('postgres', 'SELECT pg_leakhunt_statements_reset()');
my @sessions;
for my $i (1 .. 200)
{
	my $sql = "SET pg_leakhunt.sample_interval = 1;\n" . join '', map { "SELECT $_ AS \"session $i statement $_\";\n" } 1 .. 50;

	push @sessions, IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres') ], '<', \$sql, '>', \my $out, '2>', \my $err);
}
$_->finish for @sessions;
my %figures = map { split /\|/ } split /\n/, $node->safe_psql('postgres', "SELECT name, value FROM pg_leakhunt_metrics WHERE name LIKE 'statements%'");
is($figures{statements}, 1000, 'there are as many statements as may be');
is($figures{statements_lost}, 0, 'none is lost');
is_near($figures{statements} + $figures{statements_evicted}, 20, 10_015, 'those that had to go are counted');
is($node->safe_psql('postgres', "SELECT count(*) > 900 AND count(*) = count(DISTINCT query) FROM pg_leakhunt_statements WHERE query LIKE '%session%'"),
	't', 'each statement has one row');
$node->stop;

done_testing();
