# pg_leakhunt_check: what a statement leaves behind each time, exactly, and
# nothing for statements that leave nothing.  Needs the fixture's leaks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.enabled = off\n");
$node->safe_psql(
	'postgres', q{
	CREATE TABLE kept (a int);
	CREATE FUNCTION catches(n int) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN RETURN 1 / n; EXCEPTION WHEN division_by_zero THEN RETURN 0; END $$;
	CREATE FUNCTION loops() RETURNS text LANGUAGE plpgsql AS
		$$ DECLARE r record; s text := ''; BEGIN
			FOR r IN SELECT relname FROM pg_class LOOP s := s || r.relname; END LOOP;
			RETURN s; END $$;
	CREATE TABLE filled (a int PRIMARY KEY, b text);
	INSERT INTO filled SELECT g, 'x' FROM generate_series(1, 100) g;
	CREATE MATERIALIZED VIEW viewed AS SELECT a, b::text AS b FROM kept, (VALUES ('y')) v (b);
	CREATE ROLE checker});

# What a check finds, one site per line.
sub check
{
	my ($arguments, $before) = @_;

	return $node->safe_psql(
		'postgres', ($before // '') . qq{;
		SELECT bytes_per_iteration, objects_per_iteration, context_name,
			function_of(site)
		FROM pg_leakhunt_check($arguments)});
}

# What it finds, and what it says beside.  Nothing is asked before but "before".
sub check_and_hear
{
	my ($arguments, $before) = @_;
	my ($result, $stdout, $stderr) = $node->psql(
		'postgres', qq{
		\\o /dev/null
		${\($before // '')};
		\\o
		SELECT bytes_per_iteration, site FROM pg_leakhunt_check($arguments)});

	is($result, 0, "a check of $arguments has a result") or diag($stderr);
	return ($stdout, $stderr);
}

is(check(q('SELECT leak_top(16, 1)')),
	'16|1|TopMemoryContext|leaking_top', 'a check finds 16 bytes per call');
is(check(q('SELECT leak_top(16, 1)', 2, 0)),
	'16|1|TopMemoryContext|leaking_top', 'a check finds a leak in two iterations');
is( check(
		q('SELECT leak_top(16, 3), leak_cache(100, 2), leak_contexts(7, 1)')),
	"200|2|CacheMemoryContext|leaking_in\n"
	  . "48|3|TopMemoryContext|leaking_top\n"
	  . '7|1|leaker leaked context|leaking_in',
	'a check finds several leaks at once');
is(check(q('SELECT leak_top(0, 2)')),
	'0|2|TopMemoryContext|leaking_top', 'a check finds chunks of 0 bytes');
is(check(q('SELECT leak_by_repalloc(10, 1)', 50)),
	'10|0|TopMemoryContext|growing_by_repalloc',
	'a check finds a chunk that grows');
$node->safe_psql('postgres', 'CREATE SEQUENCE calls');
# An array of the server's may have words left over of chunks that were there before: what they point
# to is held, and has a row of its own.
is( $node->safe_psql(
		'postgres', q{
		SELECT round(sum(bytes_per_iteration)::numeric, 6), round(sum(objects_per_iteration)::numeric, 6),
			context_name, function_of(site)
		FROM pg_leakhunt_check($$SELECT leak_top(30, 1) FROM nextval('calls') n WHERE n % 3 = 0$$, 99, 9)
		GROUP BY 3, 4}),
	'10.000000|0.333333|TopMemoryContext|leaking_top',
	'a check finds a leak in one call of three');
is( check(
		q($$DO 'BEGIN PERFORM leak_top(8, 1); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END'$$)
	),
	'8|1|TopMemoryContext|leaking_top',
	'a check finds a leak before an error that is caught');

# By what proof: what is lost after one execution, to the byte, and what is held and grows.
sub proof_of
{
	my ($arguments) = @_;

	return $node->safe_psql(
		'postgres', qq{
		SELECT proof, bytes_per_iteration, objects_per_iteration, function_of(site), held_by
		FROM pg_leakhunt_check($arguments)});
}
for my $case (
	[ 'leak_top(16, 3)', 'lost|48|3|leaking_top|' ],
	[ 'leak_top(0, 3)', 'lost|0|3|leaking_top|' ],
	[ 'leak_cache(100, 1)', 'lost|100|1|leaking_in|' ],
	[ 'leak_at_depth(9, 8, 2)', 'lost|16|2|leaking_top|' ])
{
	my ($call, $expected) = @$case;

	is(proof_of("'SELECT $call', 1"), $expected, "one execution of $call shows what it has lost");
	is(proof_of("'SELECT $call'"), $expected, "many of $call show the same of each");
}
for my $case (
	[ 'leak_child(100, 1)', 'grows|100|1|leaking_in|' ],
	[ 'leak_by_repalloc(10, 1)', 'grows|10|0|growing_by_repalloc|the variable chunk' ],
	[ 'fill_cache_once(100, 1000)', '' ],
	[ 'allocate_in_balance(100, 10)', '' ])
{
	my ($call, $expected) = @$case;

	is(proof_of("'SELECT $call', 1, 0"), '', "one execution of $call has lost nothing");
	like(proof_of("'SELECT $call', 20"), $expected eq '' ? qr/^$/ : qr/^\Q$expected\E/,
		"what many of $call hold or reset is found by its growth, if any");
}
is($node->safe_psql('postgres', q{
		CREATE TABLE executed (a int);
		SELECT count(*) FROM pg_leakhunt_check('INSERT INTO executed SELECT 1 FROM leak_top(16, 1)', 1, 0);
		SELECT count(*) FROM executed}),
	"1\n1", 'what is lost after one execution is found by that one');
my $as_checker = 'SET SESSION AUTHORIZATION checker; SET client_min_messages = warning';
my ($refused, undef, $refusal) = $node->psql('postgres',
	"$as_checker; SELECT pg_leakhunt_check('SELECT leak_top(16, 1)')", on_error_stop => 1);
is($refused, 3, 'a check of a role without privileges is refused');
like($refusal, qr/permission denied for function pg_leakhunt_check/, 'it is refused as a privilege is missing');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION pg_leakhunt_check TO checker');
is(check(q('SELECT leak_top(16, 1)'), $as_checker),
	'16|1|TopMemoryContext|leaking_top',
	'a role that EXECUTE is granted to may check');

# What doc/ci.md tells extension authors to run in CI.
my ($script) = slurp_file("$FindBin::RealBin/../../doc/ci.md") =~
  /^( +DO \$\$\n.*?^ +END \$\$;\n)/ms;
for my $case ([ 'leak_top(16, 1)', 3 ], [ 'length(\'\'x\'\')', 0 ])
{
	my ($call, $status) = @$case;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		$script =~ s/my_function\(42\)/$call/r =~ s/\\\\n/\\n/r);
	is($result, $status, "the example in doc/ci.md ends as it should with $call");
	like(
		$stderr,
		$status
		? qr/ERROR:  leaking_top \(leaker.c:\d+\) leaks 16 bytes per call into TopMemoryContext\nDETAIL:  leaking_top/
		: qr/^$/,
		"the example in doc/ci.md prints what it should with $call");
}

# Clean statements of many kinds.
my %clean = (
	'query' =>
	  'SELECT c.relname, count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid GROUP BY 1 ORDER BY 2',
	'balanced' =>
	  'SELECT allocate_in_balance(100, 10), allocate_and_reset(100, 10)',
	'cache that fills once' => 'SELECT fill_cache_once(100, 1000)',
	'tables' =>
	  q(CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT 'x'); INSERT INTO t VALUES (1);
		CREATE INDEX ON t (b); ALTER TABLE t ADD c int; ANALYZE t; TRUNCATE t; DROP TABLE t),
	'temporary tables' =>
	  'CREATE TEMP TABLE t AS SELECT g FROM generate_series(1, 10) g; DROP TABLE t',
	'partitions' =>
	  'CREATE TABLE p (a int) PARTITION BY RANGE (a); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (9);
		INSERT INTO p VALUES (2); SELECT * FROM p WHERE a = 2; DROP TABLE p',
	'functions and types' =>
	  q(CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT f(); DROP FUNCTION f();
		CREATE TYPE e AS ENUM ('a', 'b'); DROP TYPE e),
	'PL/pgSQL' => 'SELECT length(loops())',
	'DO' => q(DO $$ BEGIN PERFORM loops(); END $$),
	'errors that are caught' =>
	  'SELECT sum(catches(g % 2)) FROM generate_series(1, 10) g',
	'prepared statement' =>
	  'PREPARE s AS SELECT relname FROM pg_class WHERE oid = $1; EXECUTE s(1259); DEALLOCATE s',
	'execute' => 'EXECUTE prepared(1259)',
	'cursor' =>
	  'DECLARE c CURSOR FOR SELECT * FROM pg_class; FETCH 10 FROM c; CLOSE c',
	'cursor that is held' =>
	  'DECLARE c CURSOR WITH HOLD FOR SELECT * FROM pg_class; FETCH 10 FROM c; CLOSE c',
	'large temporary tables' =>
	  'CREATE TEMP TABLE t AS SELECT g FROM generate_series(1, 1000) g; DROP TABLE t',
	'settings' => q(SET work_mem = '5MB'; SHOW work_mem; RESET work_mem),
	'explain' => 'EXPLAIN (ANALYZE, COSTS off) SELECT * FROM pg_class',
	'insert' => 'INSERT INTO kept VALUES (1)',
	'materialized view' => 'REFRESH MATERIALIZED VIEW viewed',
	'rewritten tables' => 'ALTER TABLE filled SET UNLOGGED; ALTER TABLE filled SET LOGGED;
		ALTER TABLE filled ALTER b TYPE varchar, ALTER b SET DEFAULT 1;
		ALTER TABLE filled ALTER b TYPE text USING left(b, 1), ALTER b DROP DEFAULT',
	'cluster' => 'CLUSTER filled USING filled_pkey',
	'domains' =>
	  q(DO $$ BEGIN CREATE DOMAIN d AS int CHECK (value > 0); PERFORM 1::d; DROP DOMAIN d; END $$),
	'composite types' =>
	  q(DO $$ BEGIN CREATE TYPE c AS (a int, b text); PERFORM (row(1, 2)::c).a; DROP TYPE c; END $$),
	'text search' =>
	  q(DO $$ BEGIN CREATE TEXT SEARCH CONFIGURATION c (COPY = english); PERFORM to_tsvector('c', 'hello worlds');
		DROP TEXT SEARCH CONFIGURATION c; END $$),);
# None of these leaves anything behind, in contexts or outside of them.
sub check_clean
{
	my ($how) = @_;

	for my $kind (sort keys %clean)
	{
		my ($answer, $said) = check_and_hear(
			"\$check\$$clean{$kind}\$check\$",
			'PREPARE prepared AS SELECT relname FROM pg_class WHERE oid = $1');

		is($answer, '', "a clean statement leaves nothing in contexts, $how: $kind");
		unlike($said, qr/malloc/, "a clean statement leaves nothing outside of contexts, $how: $kind");
	}
}
check_clean('malloc known as a sum');

# What malloc gives to others than contexts is a sum, each time at least so much.
define_corner_cases($node);
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
SKIP:
{
	skip q(malloc is not glibc's), 1 if !malloc_tells($postmaster);

	for my $case (
		[ 'leak_malloc(100, 1)', 'no context leaks', 90, 112 ],
		[ 'leak_malloc(1000, 3)', 'several times', 3000, 3100 ],
		[ 'leak_malloc(200000, 1)', 'memory that malloc maps', 200000, 210000 ],
		[ 'leak_malloc(1000, 2), leak_top(16, 1), leak_contexts(7, 1)', 'contexts leak, too', 900, 2100 ])
	{
		my ($call, $kind, $least, $most) = @$case;

		for my $counts ('', ', 20, 0', ', 50, 0')
		{
			my ($answer, $said) = check_and_hear("'SELECT $call'$counts");
			my ($bytes) = $said =~
			  /NOTICE:  malloc outside of memory contexts grew by at least (\d+) bytes per iteration\nDETAIL:.*\nHINT:/;

			is($answer ne '', $kind =~ /too/, "a check finds contexts that leak, if any: $kind$counts");
			cmp_ok($bytes // 0, '>=', $least, "a check finds at least what malloc leaked: $kind$counts");
			cmp_ok($bytes // 0, '<=', $most, "a check finds not much more than what malloc leaked: $kind$counts");
		}
	}
	for my $case (
		[ 'leak_malloc(100, n % 2)', '40, 4' ],
		[ 'CASE WHEN n < 20 THEN leak_malloc(100, 1) END', '30, 3' ],
		[ 'CASE WHEN n = 12 THEN leak_malloc(1000000, 1) END', '30, 3' ],
		[ 'leak_contexts(100000, 3)', '30, 3' ],
		[ 'leak_contexts(140000, 1), leak_empty_contexts(10)', '30, 3' ])
	{
		my ($call, $counts) = @$case;
		my ($answer, $said) = check_and_hear(
			"\$\$SELECT $call FROM nextval('calls') n\$\$, $counts",
			q(SELECT setval('calls', 1, false)));

		like($said, $call =~ /% 2/ ? qr/by at least \d\d bytes/ : qr/^$/,
			"growth by malloc is reported if it is steady: $call");
	}
}

# What it has to say it says once, and goes on saying it later.
my (undef, undef, $said) = $node->psql(
	'postgres', q{
	SELECT pg_leakhunt_check($$DO 'BEGIN RAISE NOTICE ''heard''; RAISE WARNING ''warned''; PERFORM leak_top(8, 1); END'$$, 10, 0);
	DO 'BEGIN RAISE NOTICE ''after''; END';
	SELECT pg_leakhunt_check('SET client_min_messages = warning; SELECT 1 / (random() * 0)::int');
	DO 'BEGIN RAISE NOTICE ''again''; END';},
	on_error_stop => 0);
is(join(',', $said =~ /(?:NOTICE|WARNING): +(\w+)/g),
	'heard,warned,after,again', 'a check does not repeat the notices of its statement');

# The caller's transaction, and only what it asked for.
is( $node->safe_psql(
		'postgres', q{
		BEGIN;
		TRUNCATE kept;
		SELECT count(*) FROM pg_leakhunt_check(
			'INSERT INTO kept SELECT 1 FROM leak_top(16, 1)', 20, 5);
		SELECT count(*) FROM kept;
		ROLLBACK}),
	"1\n25",
	'a checked statement runs in the transaction, and is confirmed outside of it');

# Afterwards the session is as it was.
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_leakhunt_check('SELECT leak_top(16, 1)');
		SELECT samples_taken AS before FROM pg_leakhunt_sampling
		WHERE pid = pg_backend_pid() \gset
		SELECT leak_top(100, 10000);
		SELECT sampling, sample_interval, samples_taken - :before, :before > 100
		FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()}),
	"1\n\nf|0|0|t",
	'nothing is sampled after a check');

# What can't be checked.
for my $wrong (
	[ q('SELECT 1 / (random() * 0)::int'),
		qr/ERROR:  division by zero\nCONTEXT:.*warm-up iteration 1 of pg_leakhunt_check/s ],
	[ q('SELECT 1 / (7 - count(*)) FROM kept; INSERT INTO kept VALUES (1)', 10, 5),
		qr/ERROR:  division by zero\nCONTEXT:.*\niteration 3 of pg_leakhunt_check/s ],
	[ q('COMMIT'), qr/ERROR:  pg_leakhunt_check cannot run transaction comm/ ],
	[ q('COPY kept FROM STDIN'), qr/ERROR:  pg_leakhunt_check cannot COPY/ ],
	[ q('VACUUM'), qr/ERROR:  VACUUM cannot be executed from a function/ ],
	[ q('SELECT FROM WHERE'),
		qr/ERROR:  syntax error at or near "WHERE"\nLINE 1: SELECT FROM WHERE\n +\^\nQUERY:  SELECT FROM WHERE\z/ ],
	[ q(' -- '), qr/ERROR:  there is no statement to check/ ],
	[ q(NULL), qr/ERROR:  query must not be null/ ],
	[ q('SELECT 1', 0), qr/ERROR:  iterations must be at least 1/ ],
	[ q('SELECT 1', 2, -1), qr/ERROR:  warmup must be at least 0/ ],
	[ q($$SELECT pg_leakhunt_check('SELECT 1')$$),
		qr/ERROR:  pg_leakhunt_check is running already/ ])
{
	my ($arguments, $message) = @$wrong;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"TRUNCATE kept; SELECT * FROM pg_leakhunt_check($arguments)");
	like($stderr, $message, "a check of $arguments is refused, or fails, with the reason");
}
my ($result, $stdout, $stderr) = $node->psql(
	'postgres', q{
	SELECT pg_leakhunt_check('SELECT 1 / 0');
	SELECT count(*) FROM pg_leakhunt_check('SELECT leak_top(16, 1)');
	SET statement_timeout = '100ms';
	SELECT pg_leakhunt_check('SELECT pg_sleep(0.001)', 1000000)},
	on_error_stop => 0);
is($stdout, '1', 'a session can check after a check that failed');
like($stderr, qr/canceling statement due to statement timeout/,
	'a check can be cancelled');

# Contexts without a chunk, and those that get their place later.
is( check(q('SELECT leak_empty_contexts(1)')),
	'1024|1|leaker empty context|[memory contexts]',
	'a check finds contexts in which nothing was allocated');
is( check(q('SELECT leak_moved_contexts(100, 2)')) =~ s/^\d+/N/r,
	'N|2|leaker moved context|[memory contexts]',
	'a check finds contexts that were moved');

# What was lost twice is found as well, or once, as a word may still point to one.
like( check(
		q($$SELECT CASE WHEN n IN (5, 16, 18) THEN leak_contexts(1, 1) END, leak_empty_contexts(1)
			FROM nextval('calls') n$$, 20, 10),
		q(SELECT setval('calls', 1, false))),
	qr/^1\n1024\|1\|leaker empty context\|\[memory contexts\](\n0\.\d+\|0\.\d+\|leaker leaked context\|leaking_in)?$/,
	'a check is right while contexts of new names appear');
# Where the server would compile the statement, each time to another place, it does not.
# The first call comes through ExecInterpExprStillValid, where compilers leave a frame of it.
SKIP:
{
	skip 'the server has no JIT compiler', 1 if $node->safe_psql('postgres', 'SELECT pg_jit_available()') ne 't';

	is( $node->safe_psql(
			'postgres', q{
		SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;
		SELECT sum(bytes_per_iteration), sum(objects_per_iteration), context_name, function_of(site)
		FROM pg_leakhunt_check($$SELECT leak_top(g, 1) FROM generate_series(1, 3) g$$) GROUP BY 3, 4}),
		'6|3|TopMemoryContext|leaking_top',
		'a check finds a leak of a statement that would be compiled');
}

# Roles without privileges take little of the shared memory that profiles lie in,
# however many checks they run.
$node->safe_psql('postgres',
	'CREATE ROLE tester; CREATE ROLE monitor; GRANT pg_read_all_stats TO monitor;
	GRANT EXECUTE ON FUNCTION pg_leakhunt_check TO tester, monitor');
sub check_many_sites
{
	my ($role) = @_;

	# in one message, as contexts are counted by name when one is over, whoever has made them
	return $node->psql(
		'postgres', qq{
		DO \$many\$
		DECLARE
			detail text;
			hint text;
		BEGIN
			SET ROLE $role;
			FOR round IN 1 .. 2 LOOP
				BEGIN
					PERFORM FROM pg_leakhunt_check(format('SELECT leak_named_context(''context %s '' || i, 10) FROM generate_series(1, 4000) i', round), 2, 0);
				EXCEPTION WHEN OTHERS THEN
					GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
					RAISE WARNING '%', SQLERRM USING DETAIL = detail, HINT = hint;
				END;
			END LOOP;
			RESET ROLE;
			RAISE INFO 'bytes %', (SELECT profile_bytes FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid());
		END
		\$many\$});
}
($result, $stdout, $stderr) = check_many_sites('tester');
like(
	$stderr,
	qr/could not follow all allocations\n.*\nHINT:  .* without privileges of "pg_read_all_stats" may use 1024 kB .* as another role/,
	'a check of a plain role that takes much room ends');
my ($plain_bytes) = $stderr =~ /INFO:  bytes (\d+)/;
cmp_ok($plain_bytes // 0, '>', 512 * 1024, 'what a check of a plain role takes is known, and near its bound');
cmp_ok($plain_bytes, '<=', 1024 * 1024 + 256 * 1024, 'a check of a plain role takes little room');
($result, $stdout, $stderr) = check_many_sites('monitor');
unlike($stderr, qr/WARNING/, 'a check of a role with pg_read_all_stats has no limit of room');
my ($free_room) = $stderr =~ /INFO:  bytes (\d+)/;
cmp_ok($free_room // 0,
	'>', 2 * $plain_bytes, 'a check of a role with pg_read_all_stats takes more room than that of a plain one');

# A session's ordinary samples make the profile larger between its checks, by more than
# they need: that is no room for checks.  Returns what the profile takes in the end, how
# many checks had a result, and what was said.
sub check_between_samples
{
	my ($role, $contexts) = @_;
	my $script = '';

	for my $round (1 .. 30)
	{
		$script .= qq{SELECT pg_leakhunt_start(pg_backend_pid(), 1, 'long_lived');
			SELECT leak_named_context('own $round ' || i, 10) FROM generate_series(1, 3) i;
			SELECT pg_leakhunt_stop(pg_backend_pid()); SET ROLE $role;
			SELECT 'checked' WHERE EXISTS (SELECT FROM pg_leakhunt_check('SELECT leak_named_context(''of $round '' || i, 10) FROM generate_series(1, $contexts) i', 2, 0));
			RESET ROLE;\n};
	}
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"$script SELECT 'bytes ' || profile_bytes FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()",
		on_error_stop => 0);
	my @checked = $stdout =~ /^checked/mg;

	return (($stdout =~ /^bytes (\d+)/m)[0] // 0, scalar(@checked), $stderr);
}
my ($own_bytes, $own_checks) = check_between_samples('tester', 1);
my ($free_bytes, $free_checks) = check_between_samples('monitor', 250);
my (undef, $bound_checks, $bound_said) = check_between_samples('tester', 250);
my $bytes_per_check = ($free_bytes - $own_bytes) / 30;

is($own_checks, 30, 'many small checks of a plain role have a result');
is($free_checks, 30, 'all checks of a role with pg_read_all_stats have a result');
cmp_ok($bytes_per_check, '>', 64 * 1024, 'a check takes much room');
cmp_ok($bound_checks, '>', 2, 'the first checks of a plain role have a result');
cmp_ok($bound_checks * $bytes_per_check, '<=', 1.25 * 1024 * 1024,
	'checks of a plain role take little room, whatever samples come between them');
like($bound_said, qr/could not follow all allocations/, 'later checks of a plain role have no room');
$node->safe_psql('postgres', 'DROP OWNED BY tester, monitor; DROP ROLE tester, monitor');

# More than can be followed: no figure rather than a wrong one.
$node->append_conf('postgresql.conf', 'pg_leakhunt.max_live_samples = 1000');
$node->restart;
($result, $stdout, $stderr) = $node->psql('postgres',
	q{SELECT count(*) FROM pg_leakhunt_check('SELECT leak_top(16, 100)')});
like(
	$stderr,
	qr/ERROR:  pg_leakhunt_check could not follow all allocations\nDETAIL:  \d+ of them did not fit into the profile/,
	'a check that cannot be complete fails with the reason');
$node->append_conf('postgresql.conf', 'pg_leakhunt.max_live_samples = 1000000');
$node->restart;

# Suppressions: what they mean, in checks and suspects.
sub suppressed
{
	my ($pattern, $query) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		qq{BEGIN; DELETE FROM pg_leakhunt_suppressions; INSERT INTO pg_leakhunt_suppressions VALUES ('$pattern');
		SELECT function_of(site) FROM pg_leakhunt_check('$query', 10, 1); ROLLBACK});

	return ($stdout eq '' and $stderr =~ /NOTICE:  1 leaking call site is suppressed/) ? 1
	  : $stdout eq 'leaking_top' ? 0 : "$stdout, $stderr";
}
my %patterns = (
	'leaking_top' => 1, 'king_to' => 1, '^leaking_top$' => 1, 'leak_top' => 1,
	'^king' => 0, 'leaking_to$' => 0, 'l*_*p$' => 1, '^*_top$' => 1,
	'leaker.c' => 1, 'leaker.so$' => 1, 'leaker.o' => 0, 'postgres' => 1,
	'pg_leakhunt.so' => 0, 'plh_leak_check_run' => 0, 'PostgresMain' => 0,
	'leak:leaking_top' => 1, 'context:TopMemory' => 1, 'context:^Memory' => 0,
	'context:leaking_top' => 0, 'TopMemoryContext' => 0,
	'a*b*c*d*e*f*g*h' => 0, 'leak$ing' => 0);
for my $pattern (sort keys %patterns)
{
	is(suppressed($pattern, 'SELECT leak_top(16, 1)'),
		$patterns{$pattern}, "pattern $pattern suppresses what it should");
}

$node->safe_psql('postgres',
	q{INSERT INTO pg_leakhunt_suppressions VALUES ('leaking_top', 'on purpose'), ('never', NULL)});
is(check(q('SELECT leak_top(16, 1), leak_cache(10, 1)'), 'SET client_min_messages = warning'),
	'10|1|CacheMemoryContext|leaking_in', 'a check leaves out what is suppressed');
my $leaks = join ';', ('SELECT leak_top(8000, 1), leak_cache(8000, 1)') x 100;
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe("SELECT pg_leakhunt_start($pid, 1); $leaks");
is( $node->safe_psql('postgres',
		"SELECT context_name FROM pg_leakhunt_suspects WHERE pid = $pid"),
	'CacheMemoryContext',
	'suspects leave out what is suppressed');
is( $node->safe_psql('postgres', 'SELECT pattern, reason, sites > 0, processes, live_bytes, live_count FROM pg_leakhunt_suppressed'),
	"leaking_top|on purpose|t|1|800000|100\nnever||f|0|0|0",
	'what is suppressed is counted');
is( $node->safe_psql('postgres',
		"DELETE FROM pg_leakhunt_suppressions; SELECT context_name FROM pg_leakhunt_suspects WHERE pid = $pid ORDER BY 1"),
	"CacheMemoryContext\nTopMemoryContext",
	'suspects have a site again that is not suppressed any more');
$session->quit;
for my $pattern ('', '*', 'leak:^$', 'context:')
{
	($result, $stdout, $stderr) = $node->psql('postgres',
		"INSERT INTO pg_leakhunt_suppressions VALUES ('$pattern')");
	like($stderr, qr/violates check constraint/,
		"\"$pattern\", which suppresses everything, is refused");
}

# pg_dump keeps what users have put in.
$node->safe_psql('postgres',
	q{INSERT INTO pg_leakhunt_suppressions VALUES ('leaking_top', 'on purpose'); CREATE DATABASE restored});
my $dump = $node->basedir . '/dump.sql';
$node->command_ok(
	[ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'pg_dump dumps a database with suppressions');
$node->command_ok(
	[ 'psql', '-X', '-q', '-f', $dump, '-d', $node->connstr('restored') ],
	'a database with suppressions is restored');
is( $node->safe_psql('restored', 'SELECT * FROM pg_leakhunt_suppressions'),
	'leaking_top|on purpose',
	'suppressions are restored');

# What malloc gives to PostgreSQL and its libraries is no leak either, where it is sampled.
$node->stop;
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
like(check(q('SELECT leak_malloc(100, 1)', 50)), qr/^100\|1\|\[malloc\]\|/, 'malloc is sampled in a check');
check_clean('malloc sampled');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/,
	'no process has crashed');
done_testing();
