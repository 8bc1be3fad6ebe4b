# What libraries keep in malloc's memory, where pg_leakhunt_malloc.so is preloaded: each
# is found with its functions, what it frees is gone, and all of it together is what
# malloc itself says is in use.  Needs a server with a library preloaded, and packages
# that make test does not.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $documents = "$FindBin::RealBin/../libraries/documents.so";

# A document with elements, attributes and text.
my $document = q{'<a>' || repeat('<b c="1">text</b>', 100) || '</a>'};

# test/coexistence installs each package; a case without its library is skipped.
#
# missing	whether it is known that the library is not there
# library	what must be there of the server's, unless it has the name of the case
# setup		SQL that is run once
# warm		SQL that is run in each session first: what it keeps is the library's own
# keep		SQL that keeps memory, at least "bytes" of it
# frames	a function, or the library, in each stack of what is kept
# free		SQL that gives it back
# balanced	that it is given back by itself, after "bytes" were allocated
my @cases = (
	{
		name => 'plperl',
		package => 'postgresql-plperl-VERSION',
		setup => q{CREATE EXTENSION plperl;
			CREATE FUNCTION perl_keep(first int, times int) RETURNS int LANGUAGE plperl AS
				$$ $_SHARED{$_} = 'x' x 3000 for $_[0] .. $_[0] + $_[1] - 1; return $_[1] $$;
			CREATE FUNCTION perl_forget() RETURNS int LANGUAGE plperl AS
				$$ undef $_SHARED{$_} for keys %_SHARED; return scalar keys %_SHARED $$},
		warm => 'SELECT perl_keep(1, 10), perl_forget()',
		keep => 'SELECT perl_keep(1, 5000)',
		bytes => 5000 * 3000,
		frames => 'Perl_sv_grow',
		free => 'SELECT perl_forget()',
	},
	{
		name => 'plpython3',
		package => 'postgresql-plpython3-VERSION',
		setup => q{CREATE EXTENSION plpython3u;
			CREATE FUNCTION python_keep(first int, times int) RETURNS int LANGUAGE plpython3u AS $$
for i in range(times):
    GD[first + i] = bytes(3000)
return times $$;
			CREATE FUNCTION python_forget() RETURNS int LANGUAGE plpython3u AS $$
GD.clear()
return 0 $$},
		warm => 'SELECT python_keep(1, 10), python_forget()',
		keep => 'SELECT python_keep(1, 5000)',
		bytes => 5000 * 3000,
		frames => 'libpython|Py',
		free => 'SELECT python_forget()',
	},
	{
		name => 'libxml2',
		package => 'libxml2-dev',
		missing => !-e $documents,
		setup => qq{CREATE FUNCTION keep_documents(content text, times int) RETURNS void AS '$documents' LANGUAGE C STRICT;
			CREATE FUNCTION free_documents() RETURNS void AS '$documents' LANGUAGE C STRICT},
		warm => "SELECT keep_documents($document, 1), free_documents()",
		keep => "SELECT keep_documents($document, 300)",
		bytes => 300 * 100 * 3 * 120,
		frames => 'xmlReadMemory.*keeping_document',
		free => 'SELECT free_documents()',
	},
	{
		name => 'dblink',
		setup => 'CREATE EXTENSION dblink; CREATE VIEW far AS SELECT g, repeat(g::text, 20) FROM generate_series(1, 20000) AS g',
		warm => q{SELECT dblink_connect('warm', 'dbname=postgres host=@host@ port=@port@'), dblink_disconnect('warm')},
		keep => q{SELECT dblink_connect('all', 'dbname=postgres host=@host@ port=@port@'),
			dblink_send_query('all', 'SELECT * FROM far'), pg_sleep(1), dblink_is_busy('all')},
		bytes => 50 * 1024,
		frames => 'PQ',
		free => q{SELECT dblink_disconnect('all')},
	},
	{
		name => 'llvmjit',
		package => 'postgresql-VERSION-jit',
		setup => 'CREATE TABLE numbers AS SELECT g, g::numeric / 7 AS n FROM generate_series(1, 100) g',
		warm => 'SELECT 1',
		keep => q{SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;
			SELECT count(*), sum(n * 2) FROM numbers WHERE n + g > 10; SET jit = off},
		bytes => 1024 * 1024,
		frames => 'LLVM|llvm',
	},
	{
		name => 'PROJ',
		library => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		setup => 'CREATE EXTENSION postgis',
		warm => 'SELECT postgis_version()',
		keep => q{SELECT count(ST_Transform(ST_SetSRID(ST_Point(6 * g - 183, 10), 4326), 32600 + g)) FROM generate_series(1, 60) AS g},
		bytes => 500_000,
		frames => 'proj_',
	},
	{
		name => 'GEOS',
		library => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		setup => 'CREATE EXTENSION IF NOT EXISTS postgis',
		warm => 'SELECT ST_IsValid(ST_Union(ST_Buffer(ST_Point(g, g), 1.5, 32))) FROM generate_series(1, 10) AS g',
		keep => 'SELECT ST_IsValid(ST_Union(ST_Buffer(ST_Point(g % 10, g / 10), 1.5, 32))) FROM generate_series(1, 100) AS g',
		bytes => 5_000_000,
		frames => 'geos::',
		balanced => 1,
	},);

# malloc counts what threads keep for themselves as in use, unless they may not.
my $tunables = 'glibc.malloc.tcache_count=0';

# Deleted contexts that the server keeps for others.
my $slack = 1_000_000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.max_profile_size = 64MB
});

sub start_preloaded
{
	my (%variables) = @_;

	local %ENV = (%ENV, preloaded($node, %variables));
	$node->start;
}

start_preloaded(GLIBC_TUNABLES => $tunables);
define_leakers($node);

sub sql_of
{
	my ($text) = @_;

	return $text =~ s/\@(host|port)\@/$node->$1/ger;
}

# The statement that keeps memory, so that it is known where queries are shown.
sub marked
{
	my ($case) = @_;

	return sql_of($case->{keep}) =~ s{SELECT}{SELECT /* kept */}gr;
}

# What sites of a library hold that come from its statement: bytes, their error, and
# the bytes that they have ever had, from any statement: a site that holds nothing may
# be used again, and what it had is then of no statement.
sub figures_of
{
	my ($case, $pid) = @_;
	my %figures;

	@figures{qw(bytes error total)} = split /\|/, ask(
		$node, qq{
		SELECT coalesce(sum(live_bytes) FILTER (WHERE query ~ 'kept'), 0),
			coalesce(sqrt(sum(error_bytes ^ 2) FILTER (WHERE query ~ 'kept')), 0), coalesce(sum(total_bytes), 0)
		FROM pg_leakhunt_report($pid)
		WHERE context_name = '[malloc]' AND lifetime = 'process'
			AND array_to_string(stack, ' ') ~ '$case->{frames}'});
	return \%figures;
}

# A session in which the library keeps memory, at that interval.
sub check_case
{
	my ($case, $interval) = @_;
	my $name = "$case->{name}, $interval";
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);
	my ($before, $after, $figures);

	$session->query_safe("SET pg_leakhunt.sample_interval = '$interval'");
	$session->query_safe(sql_of($case->{warm}));
	$before = malloc_figures($node, $session, $pid);
	$session->query_safe(marked($case));
	$after = malloc_figures($node, $session, $pid);
	is_malloc_true($before, $after, $slack, "$name, kept");
	$figures = figures_of($case, $pid);
	note("$name: $figures->{bytes} bytes (+/- $figures->{error}) of $figures->{total}");
	if ($case->{balanced})
	{
		cmp_ok($figures->{total}, '>=', $case->{bytes}, "$name: what it had is known");
		is($figures->{bytes}, 0, "$name: and gone");
	}
	else
	{
		cmp_ok($figures->{bytes} + 3 * $figures->{error}, '>=', $case->{bytes}, "$name: what it keeps is found");
		cmp_ok($figures->{bytes}, '>', 0, "$name: with its functions");
	}
	if ($case->{free})
	{
		$session->query_safe(sql_of($case->{free}));
		is(figures_of($case, $pid)->{bytes}, 0, "$name: what it frees is gone");
		is_malloc_true($before, malloc_figures($node, $session, $pid), $slack, "$name, freed");
	}
	is(ask($node, "SELECT samples_dropped, wrong_stacks FROM pg_leakhunt_processes WHERE pid = $pid"),
		'0|0', "$name: nothing is lost, and no stack is wrong");
	$session->quit;
}

my $pkglibdir = $node->config_data('--pkglibdir');
for my $case (@cases)
{
	my $library = $case->{library} // $case->{name};

  SKIP:
	{
		skip "$case->{name} is not installed", 1
		  if $case->{missing} // !-e "$pkglibdir/$library.so";
		$node->safe_psql('postgres', $case->{setup});
		check_case($case, $_) for '1', '4kB';
	}
}

# Small objects of Python are in memory that it maps by itself: no site has them, unless
# Python is told to use malloc.
sub small_objects_of_python
{
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe("SET pg_leakhunt.sample_interval = '4kB'");
	$session->query_safe('SELECT python_small(1) AS first');
	$session->query_safe('SELECT python_small(200000)') for 1 .. 3;
	my ($bytes) = split /\|/, ask(
		$node, qq{
		SELECT coalesce(sum(live_bytes), 0) FROM pg_leakhunt_report($pid)
		WHERE context_name = '[malloc]' AND query ~ 'python_small.200000'
			AND array_to_string(stack, ' ') ~ 'libpython|Py'});
	$session->quit;
	return $bytes;
}

SKIP:
{
	skip 'plpython3 is not installed', 1 if !-e "$pkglibdir/plpython3.so";
	$node->safe_psql(
		'postgres', q{
		CREATE FUNCTION python_small(times int) RETURNS int LANGUAGE plpython3u AS $$
GD.setdefault("small", []).append([ "text %d" % i for i in range(times) ])
return times $$});
	cmp_ok(small_objects_of_python(), '<', 15_000_000, 'small objects of Python are not seen');
	$node->stop;
	start_preloaded(PYTHONMALLOC => 'malloc');
	cmp_ok(small_objects_of_python(), '>', 25_000_000, 'unless Python uses malloc for them');
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|WARNING:/, 'no crash, no warning');
done_testing();
