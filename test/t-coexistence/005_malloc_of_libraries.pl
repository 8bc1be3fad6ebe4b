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
use MallocLibraries;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# malloc counts what threads keep for themselves as in use, unless they may not.
my $tunables = 'glibc.malloc.tcache_count=0';

# Deleted contexts that the server keeps for others.
my $most_slack = 1_000_000;

# A leak is one if it keeps growing over this number of statements.
my $statements = 30;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.max_profile_size = 64MB
jit = off
});

sub start_preloaded
{
	my (%variables) = @_;

	local %ENV = (%ENV, preloaded($node, %variables));
	$node->start;
}

start_preloaded(GLIBC_TUNABLES => $tunables);
define_leakers($node);
define_malloc_users($node);

my @libraries = libraries_with_malloc($node, $node);
my $version = ask($node, 'SHOW server_version_num') / 10000;

# The statement that keeps memory so often, so that it is known where queries are shown.
sub marked
{
	return sql_of_library(@_) =~ s{^SELECT}{SELECT /* kept */}r;
}

# What a session holds for the statements that were marked, at sites whose stacks have a
# text: bytes, their error, rows; and the bytes that these sites have ever had, from any
# statement: a site that holds nothing may be used again, and what it had is then of no
# statement.
sub figures_of
{
	my ($pid, $frames) = @_;
	my %figures;

	@figures{qw(bytes error rows total)} = split /\|/, ask(
		$node, qq{
		SELECT coalesce(sum(live_bytes) FILTER (WHERE query ~ 'kept'), 0),
			coalesce(sqrt(sum(error_bytes ^ 2) FILTER (WHERE query ~ 'kept')), 0),
			count(*) FILTER (WHERE query ~ 'kept' AND live_bytes > 0), coalesce(sum(total_bytes), 0)
		FROM pg_leakhunt_report($pid)
		WHERE context_name = '[malloc]' AND lifetime = 'process'
			AND array_to_string(stack, ' ') ~ '$frames'});
	return \%figures;
}

# A session in which the library has what it keeps anyway, at that interval, or at the
# default one.
sub start_case
{
	my ($case, $interval) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe("SET pg_leakhunt.sample_interval = '$interval'") if $interval;
	warm_up($node, $session, $pid);
	$session->query_safe($case->{begin}) if $case->{begin};
	$session->query_safe($case->{warm});
	return ($session, $pid);
}

# What it keeps, a number of bytes at least, is found with its functions and its library.
sub is_found
{
	my ($case, $pid, $bytes, $name) = @_;
	my $figures = figures_of($pid, $case->{frames});

	note("$name: $figures->{bytes} bytes (+/- $figures->{error}) of $figures->{total}");
	if ($case->{balanced})
	{
		cmp_ok($figures->{total}, '>=', $bytes, "$name: what the library had is known");
		is("$figures->{bytes} $figures->{rows}", '0 0', "$name: what the library had is gone");
		return;
	}
	cmp_ok($figures->{bytes} + 2 * $figures->{error}, '>=', $bytes, "$name: what the library keeps is found");
	cmp_ok($figures->{bytes}, '>', 0, "$name: what the library keeps has its functions");
	cmp_ok(ask($node, "SELECT sum(cum_bytes) FROM pg_leakhunt_top($pid, sums_by => 'module') WHERE name ~ '$case->{module}'"),
		'>=', $figures->{bytes}, "$name: what the library keeps has its module");
}

# What it frees leaves no row, of the functions that kept it, if it says that it keeps
# some, or of any.
sub is_freed
{
	my ($case, $session, $pid, $name) = @_;

	$session->query_safe($case->{free});
	my $figures = figures_of($pid, $case->{leaves_some} ? $case->{frames} : '');
	is("$figures->{bytes} $figures->{rows}", '0 0', "$name: what the library frees leaves no row");
}

# A session is over.
sub end_case
{
	my ($session, $pid, $name) = @_;

	is( ask($node, "SELECT samples_dropped, value FROM pg_leakhunt_sampling, pg_leakhunt_metrics WHERE pid = $pid AND name = 'wrong_stacks'"),
		'0|0', "$name: no sample is lost, and no stack is wrong");
	$session->quit;
}

# A session in which the library keeps memory once, at that interval.
sub check_case
{
	my ($case, $interval) = @_;
	my $name = "$case->{name}, $interval";
	my ($session, $pid) = start_case($case, $interval);
	my $slack = $case->{slack} // $most_slack;
	my $before = malloc_figures($node, $session, $pid);

	$session->query_safe(marked($case, $case->{times}));
	is_malloc_true($before, malloc_figures($node, $session, $pid), $slack, "$name, kept");
	is_found($case, $pid, $case->{times} * $case->{bytes}, $name);
	if ($case->{free})
	{
		is_freed($case, $session, $pid, $name);
		is_malloc_true($before, malloc_figures($node, $session, $pid), $slack, "$name, freed");
	}
	end_case($session, $pid, $name);
}

# A session that leaks at the default interval, until it holds tens of megabytes.
sub check_leak
{
	my ($case) = @_;
	my $name = "$case->{name}, default interval";
	my ($session, $pid) = start_case($case);
	my $slack = $case->{slack} // $most_slack;
	my $before = malloc_figures($node, $session, $pid);

	$session->query_safe(marked($case, $case->{large}) . "; SELECT pg_sleep(${\($case->{rest} // 0.06)})") for 1 .. $statements;
	is_malloc_true($before, malloc_figures($node, $session, $pid), $slack, "$name, kept");
	is_found($case, $pid, $statements * $case->{large} * $case->{bytes}, $name);
	note("$name: $_") for split /\n/, ask($node, "SELECT verdict, context_name, site, bytes FROM pg_leakhunt_suspects WHERE pid = $pid");
	is_suspect($case, $pid, $name) if $case->{site};
	if ($case->{free})
	{
		is_freed($case, $session, $pid, $name);
		is_malloc_true($before, malloc_figures($node, $session, $pid), $slack, "$name, freed");
		is(ask($node, "SELECT count(*) FROM pg_leakhunt_suspects WHERE pid = $pid AND verdict = 'malloc'"), 0, "$name: what the library has freed is no suspect");
	}
	end_case($session, $pid, $name);
}

# The first suspect is the call site in the library.
sub is_suspect
{
	my ($case, $pid, $name) = @_;
	my ($suspect, $site, $query) = split /\|/, ask($node, qq{
		SELECT verdict || ' ' || context_name, function_of(site), query FROM pg_leakhunt_suspects
		WHERE pid = $pid ORDER BY bytes DESC LIMIT 1});

	is($suspect, 'malloc [malloc]', "$name: the verdict is malloc");
	like($site, qr/$case->{site}/, "$name: the suspect has the site in the library");
	like($query, qr/kept/, "$name: the suspect has its statement");
}

for my $case (@libraries)
{
	ask_in_one_session(
		$node,
		sub {
			check_case($case, $_) for '1', '4kB';
			check_leak($case) if $case->{large} && $version < ($case->{large_before} // 100);
		});
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
	skip 'plpython3 is not installed', 1 if !grep { $_->{name} eq 'plpython3' } @libraries;
	$node->safe_psql(
		'postgres', q{
		CREATE FUNCTION python_small(times int) RETURNS int LANGUAGE plpython3u AS $$
GD.setdefault("small", []).append([ "text %d" % i for i in range(times) ])
return times $$});
	cmp_ok(small_objects_of_python(), '<', 15_000_000, 'small objects of Python are not seen');
	$node->stop;
	start_preloaded(PYTHONMALLOC => 'malloc');
	cmp_ok(small_objects_of_python(), '>', 25_000_000, 'small objects of Python are seen if it uses malloc for them');
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|WARNING:/, 'the log has no crash and no warning');
done_testing();
