# ALTER EXTENSION UPDATE to a version that is made up here, and what a library says to objects in
# SQL that an older script has made.  Needs an installation of its own, whose files change.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Installation;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = new_installation();
my $scripts = "$installation->{sharedir}/extension";
my $node = node_of($installation, 'main');

$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.proof_max_memory = 0\n");
$node->start;
define_leakers($node);

# Write one of the extension's files.
sub write_script
{
	my ($name, $text) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name";

	append_to_file($file, $text);
	put_file($file, "$scripts/$name");
	return;
}

# What views say that have no answer if all of their columns are asked for.
sub complaints
{
	return $node->safe_psql(
		'postgres', q{
		SELECT string_agg(relname || ': ' || told, E'\n') FROM (
			SELECT relname, told(format('SELECT count(*) FROM (SELECT * FROM %I) AS all_columns', relname)) AS told
			FROM pg_class JOIN pg_depend d ON d.objid = pg_class.oid JOIN pg_extension e ON e.oid = d.refobjid
			WHERE extname = 'pg_leakhunt' AND relkind IN ('v', 'r') AND d.deptype = 'e') AS views
		WHERE told !~ ' rows$'});
}

define_told($node);
$node->safe_psql(
	'postgres', q{
	INSERT INTO pg_leakhunt_suppressions VALUES ('known_function', 'a ticket');
	CREATE VIEW of_a_user AS SELECT pid, state FROM pg_leakhunt_processes});
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe("SET pg_leakhunt.sample_interval = 1; SELECT leak_top(64, 1000); SELECT pg_leakhunt_dump($pid)");
my $dump = $node->safe_psql('postgres', "SELECT file FROM pg_leakhunt_dumps WHERE pid = $pid");
my $held = "SELECT sum(live_bytes) FROM pg_leakhunt_report('$dump') WHERE 'leaking_top' = ANY (functions(stack))";
is($node->safe_psql('postgres', $held), 64_000, 'there is a dump');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_extension_update_paths('pg_leakhunt')"), 0, 'there is no other version yet');

# The next version has a function and a column more.
write_script('pg_leakhunt--1.0--1.1.sql', <<'SQL');
\echo Use "ALTER EXTENSION pg_leakhunt UPDATE" to load this file. \quit
CREATE FUNCTION pg_leakhunt_made_up() RETURNS int LANGUAGE sql AS 'SELECT 11';
DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW pg_leakhunt_processes AS SELECT former.*, 11 AS made_up FROM (%s) AS former',
	rtrim(pg_get_viewdef('pg_leakhunt_processes'::regclass), ';')); END $$;
SQL
write_script('pg_leakhunt.control', slurp_file("$scripts/pg_leakhunt.control") =~ s/^default_version = .*$/default_version = '1.1'/mr);
is($node->safe_psql('postgres', "SELECT source, target, path FROM pg_extension_update_paths('pg_leakhunt') WHERE source = '1.0'"),
	'1.0|1.1|1.0--1.1', 'a script leads from 1.0 to the next version');
$node->safe_psql('postgres', 'ALTER EXTENSION pg_leakhunt UPDATE');
is($node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'pg_leakhunt'"), '1.1', 'the extension is updated');
is($node->safe_psql('postgres', 'SELECT DISTINCT pg_leakhunt_made_up(), made_up FROM pg_leakhunt_processes'), '11|11', 'with what the next version has more');
is($node->safe_psql('postgres', 'SELECT pattern, reason FROM pg_leakhunt_suppressions'), 'known_function|a ticket', 'suppressions stay');
is($node->safe_psql('postgres', "SELECT state FROM of_a_user WHERE pid = $pid"), 'live', 'so do the views of users');
is($node->safe_psql('postgres', $held), 64_000, 'dumps are shown as before');
is(complaints(), '', 'all views have an answer');
is($node->safe_psql('template1', "CREATE EXTENSION pg_leakhunt; SELECT made_up FROM pg_leakhunt_processes LIMIT 1"), '11',
	'a database that comes to it later gets both scripts');

# Functions as an older script has made them: twins of all that are written in C, those with
# arguments without the last of them, and those with columns without the last of these.
$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA older;
CREATE TABLE older.pg_leakhunt_suppressions AS TABLE public.pg_leakhunt_suppressions;
CREATE VIEW older.functions AS
	SELECT p.oid, proname, pronargs, proargtypes, pronargs - pronargdefaults AS needed, proargmodes, proargnames, prosrc, probin,
		CASE WHEN proretset THEN 'SETOF ' ELSE '' END || format_type(prorettype, NULL) AS result
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid JOIN pg_extension e ON e.oid = d.refobjid
	WHERE extname = 'pg_leakhunt' AND deptype = 'e' AND probin IS NOT NULL;
CREATE TABLE older.twins AS
	SELECT proname AS name, 'argument' AS lacks, 'a' || oid AS twin,
		array_to_string((string_to_array(oidvectortypes(proargtypes), ', '))[:pronargs - 1], ', ') || CASE WHEN proargmodes IS NULL THEN ''
			ELSE CASE WHEN pronargs > 1 THEN ', ' ELSE '' END || substring(pg_get_function_arguments(oid) FROM 'OUT .*') END AS arguments,
		pronargs - 1 AS given, result, probin, prosrc, proargtypes, proargnames
	FROM older.functions WHERE pronargs > 0
	UNION ALL
	SELECT proname, 'column', 'c' || oid, regexp_replace(pg_get_function_arguments(oid), ', OUT [^,]*\$', ''), needed, result, probin, prosrc, proargtypes, proargnames
	FROM older.functions WHERE (SELECT count(*) FROM unnest(proargmodes) AS mode WHERE mode = 'o') > 2;
DO \$\$ DECLARE twin record; BEGIN FOR twin IN SELECT * FROM older.twins LOOP
	EXECUTE format('CREATE FUNCTION older.%I(%s) RETURNS %s AS %L, %L LANGUAGE C', twin.twin, twin.arguments, twin.result, twin.probin, twin.prosrc);
END LOOP; END \$\$;
ALTER TABLE older.twins ADD COLUMN told text;
UPDATE older.twins SET told = told(format('SELECT count(*) FROM older.%I(%s)', twin,
	(SELECT string_agg(CASE WHEN proargnames[number] = 'query' AND type = 'text'::regtype THEN '''SELECT 1''' WHEN type = 'int'::regtype THEN '$pid' WHEN type = 'text'::regtype THEN '''$dump'''
		WHEN type = 'bool'::regtype THEN 'false' ELSE 'NULL' END, ', ' ORDER BY number)
	 FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS given_ones (type, number) WHERE number <= given)));
SQL
my %twins = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT lacks, count(*) FROM older.twins GROUP BY 1');
cmp_ok($twins{$_}, '>=', 20, "$twins{$_} functions lack their last $_") for qw(argument column);
is($node->safe_psql('postgres', "SELECT string_agg(concat_ws(' ', name, lacks, twin, told), E'\n' ORDER BY name) FROM older.twins WHERE told <> '$no_match' AND NOT (lacks = 'column' AND told = '0 rows')"),
	'', 'each that has anything to say says that the objects in SQL do not match the library');
my (undef, undef, $said) = $node->psql('postgres', "SELECT * FROM older." . $node->safe_psql('postgres', "SELECT twin FROM older.twins WHERE name = '_pg_leakhunt_processes'") . '()');
like($said, qr/ERROR:  $no_match\nDETAIL:  .*\nHINT:  Run ALTER EXTENSION pg_leakhunt UPDATE\.  .*drop the extension and create it again\.$/m, 'and what to do');
$session->quit;
done_testing();
