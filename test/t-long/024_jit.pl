# JIT compilation, which inlines functions of the server.  With a function it
# copies the constant variables of the function's file: in a copy of the method
# tables there would be none of our hooks, and a marked chunk could not be freed.
# The copies are in the bitcode that a server leaves in its data directory.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');

$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_leakhunt'\n");
$node->start;
plan skip_all => 'this server has no JIT compiler'
  if ask($node, 'SELECT pg_jit_available()') ne 't';
my $bitcode = $node->config_data('--pkglibdir') . '/bitcode/postgres/utils/mmgr';
plan skip_all => 'this server has no bitcode of its functions to inline'
  if !-e "$bitcode/mcxt.bc";

# Names are plain text in bitcode.
my $tables = qr/(?:AllocSet|Generation|Slab)Methods|mcxt_methods/;
ok( (grep { slurp_file("$bitcode/$_.bc") =~ $tables } qw(aset mcxt)),
	'the names of the tables can be found in bitcode');

# Functions that allocate and free.  Those in the last lines are so small that
# they are inlined, and free.
my $query = q{
	SELECT sum(n + 1), avg(n * n), max(n), min(n), stddev(n), count(DISTINCT t),
		string_agg(t, ',' ORDER BY t), array_agg(n), max(t), min(t),
		sum(length(upper(t) || lower(t) || repeat(t, 2) || n)),
		bool_and(t <> n::text), bool_or(t LIKE '%7%' OR t ~ '9$'),
		sum(hashtext(t)::numeric), count(*) FILTER (WHERE t = btrim(t) || ''),
		jsonb_agg(t), sum(length(substr(t, 2) || md5(t)::bytea::text)),
		count(to_char(n, '999D9')), sum(extract(year FROM d + interval '1 day')),
		array_agg(d::text || b::text), sum(length(b || b)), bool_and(b = b),
		sum(n::float4), sum(n::float8), bool_or(t @@ 'text'), max(point(n, n)::text),
		bool_or(t::name ~* 'TEXT 9'), sum(length(to_tsvector('simple', t)))
	FROM (SELECT g::numeric AS n, 'text ' || g AS t, g::text::bytea AS b,
		date '2020-01-01' + g % 1000 AS d FROM generate_series(1, 3000) g) s
	GROUP BY left(t, 6) ORDER BY left(t, 6)};

sub answer
{
	my ($settings) = @_;

	return $node->safe_psql('postgres', "$settings; $query");
}

my $without = answer('SET jit = off');
my $with = answer(
	q{SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0;
	SET jit_optimize_above_cost = 0; SET jit_dump_bitcode = on;
	SET pg_leakhunt.sample_interval = 1; SET pg_leakhunt.scope = 'all'});
is($with, $without, 'inlined functions work with each chunk a sample');

my @dumped = glob($node->data_dir . '/*.bc');
my $text = join '', map { slurp_file($_) } @dumped;
cmp_ok(index($text, 'pfree'), '>', 0, 'functions that free were inlined');
cmp_ok(index($text, 'palloc'), '>', 0, 'functions that allocate were inlined');
is_deeply([ grep { slurp_file($_) =~ $tables } @dumped ],
	[], 'no method table was copied');
$node->stop;

done_testing();
