# The functions in PL/pgSQL and SQL that memory was allocated in, with their lines: through
# EXECUTE, triggers, DO blocks, procedures, exceptions, cursors, recursion and functions
# that are replaced while they run; in tables, sentences, pictures and dumps.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 1
restart_after_crash = on
CONF

# Each leaks at a line of its own, which the comment behind it numbers.
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA shop;
CREATE TABLE shop.orders (i int);
CREATE FUNCTION shop.leak(n int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM leak_top(n, 1);        -- 3
END $f$;
CREATE FUNCTION by_execute() RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE 'SELECT leak_top(1001, 1)';    -- 3
END $f$;
CREATE FUNCTION nested() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
	x int := 1;
BEGIN

	PERFORM shop.leak(1002);       -- 6
END $f$;
CREATE FUNCTION shop.log_change() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
	IF NEW.i > 0 THEN
		PERFORM leak_top(1003, 1);     -- 4
	END IF;
	RETURN NEW;
END $f$;
CREATE TRIGGER audit BEFORE INSERT ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.log_change();
CREATE PROCEDURE committing() LANGUAGE plpgsql AS $f$
BEGIN
	COMMIT;
	PERFORM leak_top(1004, 1);     -- 4
	COMMIT;
END $f$;
CREATE FUNCTION catching() RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	BEGIN
		PERFORM 1 / 0;
	EXCEPTION WHEN division_by_zero THEN
		PERFORM leak_top(1005, 1);     -- 6
	END;
END $f$;
CREATE FUNCTION looping() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT generate_series(1, 3) LOOP
		PERFORM leak_top(1006, 1);     -- 6
	END LOOP;
END $f$;
CREATE FUNCTION recursive(depth int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	IF depth > 1 THEN
		PERFORM recursive(depth - 1);  -- 4
	ELSE
		PERFORM leak_top(1008, 1);     -- 6
	END IF;
END $f$;
CREATE FUNCTION replaced() RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE 'CREATE OR REPLACE FUNCTION replaced() RETURNS void LANGUAGE plpgsql AS $n$ BEGIN PERFORM leak_top(1010, 1); END $n$';
	PERFORM leak_top(1009, 1);     -- 4
END $f$;
CREATE FUNCTION assigning() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
	x text := leak_top(1011, 1)::text;    -- 3
BEGIN
	x := leak_top(1012, 1)::text;  -- 5
	RETURN;
END $f$;
-- The log tells of ten exits of a role in a minute, and each session here is worth one.
CREATE ROLE shopkeeper LOGIN SUPERUSER;
SQL
my $session = $node->background_psql('postgres', extra_params => [ '-U', 'shopkeeper' ]);
my $pid = session_pid($session);
$session->query_safe($_) for (
	'SELECT by_execute()', 'SELECT nested()', 'INSERT INTO shop.orders VALUES (1)', 'CALL committing()',
	'SELECT catching()', 'SELECT looping()', 'SELECT recursive(50)', 'SELECT replaced()', 'SELECT replaced()',
	'SELECT assigning()', "DO \$\$\nBEGIN\n\n	PERFORM leak_top(1013, 1);\nEND \$\$",
	'SELECT leak_top(1014, 1)');

# The routine of each of them, by the bytes that it leaked.
my %routines = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('postgres', qq{
	SELECT live_bytes / live_count, coalesce(routine, 'none') FROM pg_leakhunt_report($pid)
		WHERE function_of(site) = 'leaking_top' ORDER BY 1});
is_deeply(\%routines, {
	1001 => 'by_execute() line 3',
	1002 => 'shop.leak(integer) line 3',
	1003 => 'trigger audit on orders: shop.log_change() line 4',
	1004 => 'committing() line 4',
	1005 => 'catching() line 6',
	1006 => 'looping() line 6',
	1008 => 'recursive(integer) line 6',
	1009 => 'replaced() line 4',
	1010 => 'replaced() line 1',
	1011 => 'assigning() line 3',
	1012 => 'assigning() line 5',
	1013 => 'DO block line 4',
	1014 => 'none'
}, 'each leak has the routine and the line that it was made in');

# Callers stand behind, from the innermost on.
my $callers = $node->safe_psql('postgres', qq{
	SELECT string_agg(frame, '; ' ORDER BY place) FROM pg_leakhunt_report($pid),
		unnest(stack) WITH ORDINALITY frames(frame, place)
		WHERE routine = 'shop.leak(integer) line 3' AND function_of(site) = 'leaking_top' AND frame ~ ' line '});
is($callers, 'shop.leak(integer) line 3; nested() line 6', 'a stack has the routines that call each other');
my $order = $node->safe_psql('postgres', qq{
	SELECT array_position(stack, 'by_execute() line 3') > 1 AND
			function_of(stack[array_position(stack, 'by_execute() line 3') + 1]) = 'plpgsql_call_handler'
		FROM pg_leakhunt_report($pid) WHERE routine = 'by_execute() line 3' AND function_of(site) = 'leaking_top'});
is($order, 't', 'a routine stands before the function in C that calls its language');
is($node->safe_psql('postgres', qq{
	SELECT count(*) FILTER (WHERE frame ~ '^recursive') > 3 FROM pg_leakhunt_report($pid), unnest(stack) frame
		WHERE live_bytes = 1008 AND function_of(site) = 'leaking_top'}), 't', 'a recursive function is there several times');

# A function in SQL between two in PL/pgSQL.
$session->query_safe(q{CREATE FUNCTION in_sql() RETURNS text LANGUAGE sql VOLATILE AS
	'SELECT shop.leak(1015)::text UNION ALL SELECT NULL ORDER BY 1 LIMIT 1'});
$session->query_safe("DO 'BEGIN PERFORM in_sql(); END'");
is($node->safe_psql('postgres', qq{
	SELECT string_agg(frame, '; ' ORDER BY place) FROM pg_leakhunt_report($pid),
		unnest(stack) WITH ORDINALITY frames(frame, place)
		WHERE live_bytes = 1015 AND function_of(site) = 'leaking_top' AND frame ~ ' line |^SQL function|^DO '}),
	'shop.leak(integer) line 3; SQL function in_sql; DO block line 1', 'a function in SQL stands between two in PL/pgSQL');

# Lines are those of PG_CONTEXT, and of errors.
$session->query_safe(<<'SQL');
CREATE FUNCTION in_context(OUT context text) LANGUAGE plpgsql AS $f$
BEGIN

	GET DIAGNOSTICS context = PG_CONTEXT; PERFORM leak_top(1016, 1);
END $f$
SQL
my ($line) = $session->query_safe('SELECT in_context()') =~ /in_context\(\) (line \d+)/;
is($node->safe_psql('postgres', "SELECT routine FROM pg_leakhunt_report($pid) WHERE live_bytes = 1016 AND function_of(site) = 'leaking_top'"),
	"in_context() $line", 'the line is that of PG_CONTEXT');

# An error that is over leaves no routine behind.
my ($result, $out, $error) = $node->psql('postgres', "DO 'BEGIN RAISE division_by_zero; END';
	SELECT routine IS NULL FROM (SELECT leak_top(1017, 1)) leaked, pg_leakhunt_report(pg_backend_pid()) WHERE live_bytes = 1017",
	on_error_stop => 0);
is($out, 't', 'after an error there is no routine');

# Tables and pictures.
is($node->safe_psql('postgres', qq{SELECT flat_bytes FROM pg_leakhunt_top($pid, 'routine') WHERE name = 'looping()'}) >= 3 * 1006,
	1, 'sums by routine have what a function allocated');
my $folded = $node->safe_psql('postgres', "SELECT pg_leakhunt_folded($pid, frames => 'sql')");
like($folded, qr/^nested\(\);shop\.leak\(integer\) \d+$/m, 'stacks can be of routines alone');
like($folded, qr/^\[no routine\] \d+$/m, 'what no routine allocated is one stack then');
unlike($folded, qr/plpgsql_call_handler|leaking_top/, 'stacks of routines alone have no functions in C');
like($node->safe_psql('postgres', "SELECT pg_leakhunt_folded($pid)"), qr/plpgsql_call_handler;nested\(\);plpgsql/,
	'else stacks have both');
my $svg = $node->safe_psql('postgres', "SELECT pg_leakhunt_flamegraph($pid)");
like($svg, qr/>function in SQL or PL</, 'a flame graph has a colour for PL/pgSQL');
($result, $out, $error) = $node->psql('postgres', "SELECT pg_leakhunt_folded($pid, frames => 'c')");
like($error, qr/there are no frames "c".*Frames are all, or sql/s, 'other frames are an ERROR');

# What is judged, and what a check finds.
$session->query_safe('SELECT shop.leak(4000) FROM generate_series(1, 10)') for 1 .. 100;
is($node->safe_psql('postgres', "SELECT DISTINCT routine FROM pg_leakhunt_suspects WHERE pid = $pid AND function_of(site) = 'leaking_top'"),
	'shop.leak(integer) line 3', 'a suspect has its routine');
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid)"),
	qr/^(Allocated|The largest part was allocated) in shop\.leak\(integer\) line 3\.$/m, 'an explanation names the routine');
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid, format => 'json')"),
	qr/"routine": ?"shop\.leak\(integer\) line 3"/, 'so it does for programs');
is($node->safe_psql('postgres', "SELECT routine FROM pg_leakhunt_check('SELECT shop.leak(500)')"),
	'shop.leak(integer) line 3', 'a check has the routine');

# Over all processes, from another database, and after death.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_leakhunt');
is($node->safe_psql('other', "SELECT routine FROM pg_leakhunt_report($pid) WHERE live_bytes = 1001 AND site ~ 'leaking_top'"),
	'by_execute() line 3', 'routines are shown in any database');
like($node->safe_psql('postgres', "SELECT pg_leakhunt_folded('all', frames => 'sql')"),
	qr/^nested\(\);shop\.leak\(integer\) \d+$/m, 'routines of all processes are merged');
$session->quit;
is(problem_at_exit($node, $pid), undef, 'the session exits');
my $dump = $node->safe_psql('postgres', "SELECT file FROM pg_leakhunt_dumps WHERE pid = $pid ORDER BY created_at DESC LIMIT 1");
is($node->safe_psql('postgres', "SELECT routine FROM pg_leakhunt_report('$dump') WHERE live_bytes = 1003"),
	'trigger audit on orders: shop.log_change() line 4', 'a dump has the routines');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_heap('$dump') heap WHERE heap ~ '\\) line [0-9]'"),
	0, 'a text for jeprof has none');
$node->wait_for_log(qr/\[$pid\].* DETAIL:  Process: .* of it by \S+ \(called in leak_top\) in TopMemoryContext, allocated in shop\.leak\(integer\) line 3\.  /);
pass('the line of an exit has the routine that holds most');

my $killed = $node->background_psql('postgres', on_error_stop => 0);
my $killed_pid = session_pid($killed);
$killed->query_safe('SELECT shop.leak(4000) FROM generate_series(1, 100)');
kill 'KILL', $killed_pid;
$node->wait_for_log(qr/process $killed_pid \(client backend\) crashed.*\n.* DETAIL:  .* at leaking_top \(\S+\) in TopMemoryContext, called in shop\.leak\(integer\) line 3\.  /);
pass('the line of a crash has the routine that held most');
$killed->quit;

$node->stop;
done_testing();
