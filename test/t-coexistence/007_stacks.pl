# Stacks that are remembered, or walked over by our own rules, where other languages and
# libraries lie on them: Perl, Python, libxml2, compiled queries, and GEOS, which is C++
# and throws; and where errors jump over many frames.  Each allocation, of malloc too, is a
# sample.  test/coexistence builds pg_leakhunt so that each stack is compared with
# libunwind's; CAPTURES are the stacks to compare.  Needs packages that make test does not.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $captures = $ENV{CAPTURES} || 1_000_000;

# test/coexistence installs each package; a case without its library is skipped.
#
# library	what must be there of the server's
# setup		SQL that is run once, and defines NAME_work(), which returns "result"
# missing	SQL that is true where it can't work
# weight	how often it is called, of all calls
my @cases = (
	{
		name => 'jumps',
		setup => q{
			CREATE FUNCTION fail_at(depth int, text text) RETURNS int LANGUAGE plpgsql AS $$
			BEGIN
				IF depth = 0 THEN RAISE division_by_zero USING MESSAGE = text; END IF;
				RETURN fail_at(depth - 1, text || depth);
			END $$;
			CREATE FUNCTION jumps_work() RETURNS int LANGUAGE plpgsql AS $$
			DECLARE caught int := 0;
			BEGIN
				FOR i IN 1..50 LOOP
					BEGIN
						PERFORM fail_at(i % 10, repeat('x', i));
					EXCEPTION WHEN division_by_zero THEN
						caught := caught + length(SQLERRM) / length(SQLERRM);
					END;
					PERFORM string_agg(g::text, ',' ORDER BY g DESC) FROM generate_series(1, i) AS g;
				END LOOP;
				RETURN caught;
			END $$},
		result => 50,
		weight => 8,
	},
	{
		name => 'plperl',
		package => 'postgresql-plperl-VERSION',
		library => 'plperl',
		setup => q{CREATE EXTENSION plperl;
			CREATE FUNCTION plperl_work() RETURNS int LANGUAGE plperl AS $$
				my $caught = 0;
				for my $i (1 .. 50) {
					eval { spi_exec_query("SELECT 10 / ($i % 2)") };
					$caught++ if $@;
					my %texts = map { $_ => join ',', 1 .. $_ } 1 .. $i;
					spi_exec_query('SELECT ' . quote_literal($texts{$i}));
				}
				return $caught $$},
		result => 25,
		weight => 8,
	},
	{
		name => 'plpython3',
		package => 'postgresql-plpython3-VERSION',
		library => 'plpython3',
		setup => q{CREATE EXTENSION plpython3u;
			CREATE FUNCTION plpython3_work() RETURNS int LANGUAGE plpython3u AS $$
caught = 0
for i in range(50):
    try:
        plpy.execute("SELECT 10 / (%d %% 2)" % i)
    except plpy.SPIError:
        caught += 1
    texts = dict((n, ','.join(map(str, range(n)))) for n in range(i))
    plpy.execute("SELECT " + plpy.quote_literal(str(sorted(texts))))
return caught $$},
		result => 25,
		weight => 8,
	},
	{
		name => 'xml',
		missing => q{SELECT NOT EXISTS (SELECT FROM pg_config() WHERE setting LIKE '%--with-libxml%')},
		setup => q{
			CREATE FUNCTION xml_work() RETURNS int LANGUAGE plpgsql AS $$
			DECLARE
				caught int := 0;
				document xml;
			BEGIN
				FOR i IN 1..50 LOOP
					document := ('<a>' || repeat('<b c="1">text</b>', i) || '</a>')::xml;
					PERFORM xpath('//b[@c = 1]/text()', document), xmlelement(name d, document);
					PERFORM count(*) FROM xmltable('/a/b' PASSING document COLUMNS c int PATH '@c');
					BEGIN
						document := repeat('<b>', i)::xml;
					EXCEPTION WHEN invalid_xml_content OR invalid_xml_document THEN
						caught := caught + 1;
					END;
				END LOOP;
				RETURN caught;
			END $$},
		result => 50,
		weight => 4,
	},
	{
		name => 'jit',
		package => 'postgresql-VERSION-jit',
		library => 'llvmjit',
		setup => q{
			CREATE TABLE numbers AS SELECT g, g::numeric / 7 AS n, repeat(g::text, 5) AS t FROM generate_series(1, 2000) AS g;
			CREATE FUNCTION jit_work() RETURNS int LANGUAGE plpgsql
				SET jit = on SET jit_above_cost = 0 SET jit_inline_above_cost = -1 SET jit_optimize_above_cost = -1 AS $$
			DECLARE found int;
			BEGIN
				EXECUTE 'SELECT count(*) FROM numbers WHERE n * 2 > 0 AND upper(t) <> lower(n::text || ''a'') AND length(t || g) > '
					|| (random() * 4)::int INTO found;
				RETURN found;
			END $$},
		result => 2000,
		weight => 1,
	},
	{
		name => 'geos',
		package => 'postgresql-VERSION-postgis-3',
		library => 'postgis-3',
		setup => q{CREATE EXTENSION postgis;
			CREATE FUNCTION geos_work() RETURNS int LANGUAGE plpgsql AS $$
			DECLARE
				caught int := 0;
				crossed geometry;
			BEGIN
				FOR i IN 1..20 LOOP
					PERFORM ST_Union(ST_Buffer(ST_Point(g, g), 1.5)) FROM generate_series(1, 4) AS g;
					crossed := ST_GeomFromText(format('POLYGON((0 0, %s %s, 0 %s, %s 0, 0 0))', i, i, i, i));
					BEGIN
						PERFORM ST_Union(crossed, ST_Buffer(ST_Point(i / 2.0, i / 3.0), i));
					EXCEPTION WHEN OTHERS THEN
						caught := caught + 1;
					END;
				END LOOP;
				RETURN caught;
			END $$},
		result => 20,
		weight => 4,
	},);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.sample_interval = 1
pg_leakhunt.scope = all
pg_leakhunt.log = findings
jit = off
});
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
define_leakers($node);

my $pkglibdir = $node->config_data('--pkglibdir');
my $directory = PostgreSQL::Test::Utils::tempdir();
my @scripts;

for my $case (@cases)
{
	my $name = $case->{name};

  SKIP:
	{
		skip "$name: not with this server", 1
		  if $case->{library} && !-e "$pkglibdir/$case->{library}.so";
		skip "$name: not with this server", 1
		  if $case->{missing} && ask($node, $case->{missing}) eq 't';
		$node->safe_psql('postgres', $case->{setup});
		is(ask($node, "SELECT ${name}_work()"), $case->{result}, "$name: its functions work");
		append_to_file("$directory/$name.sql", "SELECT ${name}_work();\n");
		push @scripts, '-f', "$directory/$name.sql\@$case->{weight}";
	}
}

# What the processes that have exited say of their stacks: how many were compared, and
# how many of these were wrong.
sub compared
{
	my ($sum, $wrong) = (0, 0);

	for (slurp_file($node->logfile) =~ /LOG:  (\d+ stacks compared, \d+) wrong/g)
	{
		my ($stacks, $differ) = /(\d+)/g;
		($sum, $wrong) = ($sum + $stacks, $wrong + $differ);
	}
	return ($sum, $wrong);
}

my ($before, $rounds) = (-1, 0);
my ($sum, $wrong) = (0, 0);
do
{
	$node->command_ok(
		[ 'pgbench', '-n', '-c', 4, '-j', 2, '-t', 10, @scripts, '-h', $node->host, '-p', $node->port, 'postgres' ],
		'all functions work at random, round ' . ++$rounds);
	$before = $sum;
	($sum, $wrong) = compared();
} while ($sum > $before && $sum < $captures && $wrong == 0);
is(ask($node, q{SELECT value FROM pg_leakhunt_metrics WHERE name = 'wrong_stacks'}), '0', 'no process has seen a wrong stack');
$node->stop;
($sum, $wrong) = compared();

SKIP:
{
	skip 'this build compares few stacks', 2 if $sum == 0;
	diag("$sum stacks compared, $wrong wrong");
	cmp_ok($sum, '>=', $captures, "at least $captures stacks were compared");
	is($wrong, 0, 'no stack was wrong');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|WARNING:/, 'the log has no crash and no warning');
done_testing();
