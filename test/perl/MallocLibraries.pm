# Libraries that keep memory of malloc's: what tests of sampling malloc have in common.
package MallocLibraries;

use strict;
use warnings;

use Exporter 'import';
use FindBin;

our @EXPORT = qw(libraries_with_malloc sql_of_library);

my $documents = "$FindBin::RealBin/../libraries/documents.so";

# A document with elements, attributes and text.
my $document = q{'<a>' || repeat('<b c="1">text</b>', 100) || '</a>'};

# test/coexistence installs each package.
#
# missing	whether it is known that the library is not there
# library	what must be there of the server's, unless it has the name of the case
# setup		SQL that is run once, with the server "far" to connect to
# begin		SQL that is run in each session first
# warm		SQL after which the library has what it keeps anyway; other statements than
#			"keep", as those that differ in literals and comments are one
# keep		a statement that keeps memory "times" times, at least "bytes" each time
# large		how often in each of many statements that leak tens of megabytes together;
#			not there if the library does not keep so much
# rest		seconds after each of these statements, if more than a few hundredths
# frames	a function, or the library, in each stack of what is kept
# within	a text in each stack that the library is in, unless that is "frames"
# site		a function of the library or of the extension, of what is kept most, that is a
#			suspect then
# module	the library
# files		paths of what is in each of these stacks
# free		SQL that gives it back
# leaves_some	that it keeps other memory then, such as keys of a hash
# balanced	that it is given back by itself, after "bytes" were allocated
# slack		bytes that malloc may have given out for other reasons
my @libraries = (
	{
		name => 'plperl',
		package => 'postgresql-plperl-VERSION',
		setup => q{CREATE EXTENSION plperl;
			CREATE FUNCTION perl_keep(times int) RETURNS int LANGUAGE plperl AS
				$$ $_SHARED{keys %_SHARED} = 'x' x 3000 for 1 .. $_[0]; return scalar keys %_SHARED $$;
			CREATE FUNCTION perl_forget() RETURNS int LANGUAGE plperl AS
				$$ undef $_SHARED{$_} for keys %_SHARED; return scalar keys %_SHARED $$},
		warm => 'SELECT perl_keep(10), perl_forget()',
		keep => 'SELECT perl_keep(@times@)',
		times => 5000,
		large => 800,
		bytes => 3000,
		frames => 'Perl_sv_grow',
		within => 'plperl|Perl_',
		site => '^Perl_',
		module => 'libperl',
		files => qr/plperl\.so/,
		free => 'SELECT perl_forget()',
		leaves_some => 1,
	},
	{
		name => 'plpython3',
		package => 'postgresql-plpython3-VERSION',
		setup => q{CREATE EXTENSION plpython3u;
			CREATE FUNCTION python_keep(times int) RETURNS int LANGUAGE plpython3u AS $$
for i in range(times):
    GD[len(GD)] = bytes(3000)
return len(GD) $$;
			CREATE FUNCTION python_forget() RETURNS int LANGUAGE plpython3u AS $$
GD.clear()
return 0 $$},
		warm => 'SELECT python_keep(10), python_forget()',
		keep => 'SELECT python_keep(@times@)',
		times => 5000,
		large => 800,
		bytes => 3000,
		frames => 'libpython|Py',
		within => 'plpython3|Py',
		site => 'libpython|^_?Py',
		module => 'libpython',
		files => qr/plpython3\.so/,
		free => 'SELECT python_forget()',
	},
	{
		name => 'libxml2',
		package => 'libxml2-dev',
		missing => !-e $documents,
		setup => qq{CREATE FUNCTION keep_documents(content text, times int) RETURNS void AS '$documents' LANGUAGE C STRICT;
			CREATE FUNCTION free_documents() RETURNS void AS '$documents' LANGUAGE C STRICT},
		warm => "SELECT keep_documents($document, 1), free_documents()",
		keep => "SELECT keep_documents($document, \@times@)",
		times => 300,
		large => 50,
		bytes => 100 * 3 * 120,
		frames => 'xmlReadMemory.*keeping_document',
		within => 'keeping_document',
		site => '^xml|libxml2|keeping_document',
		module => 'libxml2',
		files => qr/documents\.so/,
		free => 'SELECT free_documents()',
	},
	{
		name => 'dblink',
		setup => q{CREATE EXTENSION dblink;
			CREATE FUNCTION far_keep(times int) RETURNS text LANGUAGE plpgsql AS $$
			DECLARE
				name text := 'far ' || coalesce(array_length(dblink_get_connections(), 1), 0);
			BEGIN
				PERFORM dblink_connect(name, 'dbname=postgres host=@host@ port=@port@');
				PERFORM dblink_send_query(name, format('SELECT repeat(''x'', 1000) FROM generate_series(1, %s)', times));
				WHILE dblink_is_busy(name) = 1 LOOP
				END LOOP;
				RETURN name;
			END $$;
			CREATE FUNCTION far_forget() RETURNS bigint LANGUAGE sql AS
				$$ SELECT count(dblink_disconnect(name)) FROM unnest(dblink_get_connections()) AS name $$},
		warm => 'SELECT far_keep(10) AS first, far_forget()',
		keep => 'SELECT far_keep(@times@)',
		times => 5000,
		large => 2000,
		bytes => 1000,
		frames => 'PQ',
		within => 'dblink',
		site => 'libpq|^PQ|^pq',
		module => 'libpq',
		files => qr/dblink\.so/,
		free => 'SELECT far_forget()',
	},
	{
		name => 'llvmjit',
		package => 'postgresql-VERSION-jit',
		setup => q{CREATE TABLE numbers AS SELECT g, g::numeric / 7 AS n, now() AS t, g::text AS s, g::float8 AS f,
				point(g, g) AS p, ARRAY[g] AS a FROM generate_series(1, 100) g;
			CREATE FUNCTION compile(times int) RETURNS int LANGUAGE plpgsql
				SET jit = on SET jit_above_cost = 0 SET jit_inline_above_cost = 0 SET jit_optimize_above_cost = -1 AS $$
			BEGIN
				FOR i IN 1 .. times LOOP
					EXECUTE 'SELECT count(*), sum(n * 2), max(t + interval ''1 day''), min(s || ''x''), max(f * 2), max(upper(s)), max(a)
						FROM numbers WHERE n + g > 10 AND s <> ''2'' AND f > 3 AND p <@ box ''((0, 0), (1000, 1000))''
						AND t > ''2000-01-01'' AND s LIKE ''%1%'' AND extract(year FROM t) > 2 AND date_trunc(''year'', t) IS NOT NULL';
				END LOOP;
				RETURN times;
			END $$},
		warm => 'SELECT compile(0) AS first',
		keep => 'SELECT compile(@times@)',
		times => 2,
		large => 5,
		# the context that has the types of all queries is made anew now and then
		large_before => 17,
		# no site is a suspect: hundreds keep a hundredth each of what they allocate
		bytes => 200_000,
		frames => 'LLVM|llvm::',
		within => 'LLVM|llvm',
		module => 'libLLVM',
		files => qr/llvmjit\.so|libLLVM/,
	},
	{
		name => 'PROJ',
		library => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		setup => 'CREATE EXTENSION postgis',
		warm => 'SELECT postgis_version()',
		keep => 'SELECT count(ST_Transform(ST_SetSRID(ST_Point(6 * g - 183, 10), 4326), 32600 + g)) FROM generate_series(1, @times@) AS g',
		times => 60,
		bytes => 50_000,
		frames => 'proj_',
		within => 'proj',
		module => 'libproj',
		files => qr/libproj\.so/,
	},
	{
		name => 'GEOS',
		library => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		# each cursor that stays open has an index of the shape
		setup => q{CREATE EXTENSION IF NOT EXISTS postgis;
			CREATE TABLE shapes AS SELECT ST_Buffer(ST_Point(0, 0), 1, 1000) AS shape;
			CREATE FUNCTION shape_keep(times int) RETURNS int LANGUAGE plpgsql AS $$
			DECLARE
				opened refcursor;
			BEGIN
				FOR i IN 1 .. times LOOP
					opened := NULL;
					OPEN opened FOR SELECT ST_Intersects(shape, ST_MakeLine(ST_Point(0, g), ST_Point(1, 1)))
						FROM shapes, generate_series(1, 10) AS g;
					MOVE FORWARD 5 FROM opened;
				END LOOP;
				RETURN times;
			END $$},
		begin => 'BEGIN',
		warm => 'SELECT shape_keep(1) AS first; CLOSE ALL',
		keep => 'SELECT shape_keep(@times@)',
		times => 20,
		large => 6,
		bytes => 4000 * 64,
		frames => 'geos::|GEOS',
		within => 'geos|GEOS',
		# or the function below which all of its call sites are
		site => 'geos::|GEOS|^ST_',
		module => 'libgeos',
		files => qr/libgeos\S*\.so/,
		free => 'CLOSE ALL',
		# a long transaction is judged by seconds
		rest => 0.4,
	},
	{
		name => 'GEOS, unions',
		library => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		setup => 'CREATE EXTENSION IF NOT EXISTS postgis',
		warm => 'SELECT ST_IsValid(ST_Union(ST_Buffer(ST_Point(g, g), 1.5, 32))) FROM generate_series(1, 10) AS g',
		keep => 'SELECT ST_IsValid(ST_Union(ST_Buffer(ST_Point(g % 10, g / 10), 1.5, 32))) FROM generate_series(1, @times@) AS g',
		times => 100,
		bytes => 50_000,
		frames => 'geos::',
		balanced => 1,
	},
	{
		name => 'threads',
		missing => 0,
		keep => 'SELECT hold_malloc(100, @times@), hold_malloc(3000, @times@ / 50), hold_malloc(300000, @times@ / 2500), exchange_in_threads(4, 10000)',
		warm => 'SELECT hold_malloc(100, 1), exchange_in_threads(4, 10000), release_malloc()',
		times => 50_000,
		large => 10_000,
		bytes => 100 + 3000 / 50 + 300000 / 2500,
		frames => 'holding_malloc',
		site => '^holding_malloc$',
		module => 'malloc_users',
		files => qr/malloc_users\.so/,
		free => 'SELECT release_malloc()',
		slack => 2_000_000,
	},);

# Those that are there for a server, with their functions made in its database.  "far" is
# a server to connect to.
sub libraries_with_malloc
{
	my ($node, $far) = @_;
	my $pkglibdir = $node->config_data('--pkglibdir');
	my @there = grep { !($_->{missing} // !-e "$pkglibdir/" . ($_->{library} // $_->{name}) . '.so') } @libraries;

	for my $library (@there)
	{
		my $setup = $library->{setup} or next;

		$node->safe_psql('postgres', $setup =~ s/\@(host|port)\@/$far->$1/ger);
	}
	return @there;
}

# The statement of a library that keeps memory so often.
sub sql_of_library
{
	my ($library, $times) = @_;

	return $library->{keep} =~ s/\@times\@/$times/gr;
}

1;
