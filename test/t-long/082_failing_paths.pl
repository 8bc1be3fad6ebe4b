# pg_leakhunt_check(..., fail => 'statement' | 'each'): what stays where a statement raises
# an error, and where one of its allocations fails.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.enabled = off\nrestart_after_crash = on\n");
define_fixture($node, 'failing_paths');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE kept (a int);
	CREATE FUNCTION catches() RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN RETURN 1 / 0; EXCEPTION WHEN division_by_zero THEN RETURN 0; END $$});

# What a check finds, one site per line, and what it says.
sub check
{
	my ($query, $fail, $columns, $before) = @_;
	my ($result, $stdout, $stderr) = $node->psql(
		'postgres', ($before // '') . qq{;
		SELECT $columns FROM pg_leakhunt_check(\$check\$$query\$check\$, 20, 3, fail => '$fail')});

	is($result, 0, "a check of $query has a result") or diag($stderr);
	return ($stdout, $stderr);
}

my $leak = 'bytes_per_iteration, objects_per_iteration, context_name, function_of(site)';

# Errors.
my ($answer, $said) = check('SELECT leak_on_error(false)', 'statement', $leak);
is($answer, '100|1|TopMemoryContext|lasting_record', 'a leak on the path of an error is found');
like($said, qr/NOTICE:  the statement raised an error in 23 of 23 executions: this function always fails/,
	'it is told which error that was');
($answer, $said) = check('SELECT leak_on_error(true)', 'statement', $leak);
is($answer, '', 'where that is mended, nothing is found');
($answer, $said) = check('INSERT INTO kept VALUES (1)', 'statement', $leak);
is($answer, '', 'a statement without an error leaves nothing');
like($said, qr/NOTICE:  the statement raised no error in 23 executions\nDETAIL:  Each execution was rolled back\./,
	'it is told that there was no error');
is($node->safe_psql('postgres', 'SELECT count(*) FROM kept'), '0', 'and its effects are rolled back');

# A cache that is built anew, which needs no failure.
my $caches = $ENV{LEAKER} =~ s/leaker$/rebuilt_cache/r;
$node->safe_psql('postgres', join ';',
	map { "CREATE FUNCTION $_() RETURNS bool AS '$caches' LANGUAGE C" } qw(use_forgetting_cache use_freeing_cache));
is( $node->safe_psql('postgres',
		"SELECT bytes_per_iteration, function_of(site) FROM pg_leakhunt_check('SELECT use_forgetting_cache()', 100)"),
	'4|rebuild', 'a cache that is lost when it is built anew is found');
is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_check('SELECT use_freeing_cache()')"),
	'0', 'where that is mended, nothing is found');

# Allocations.
my $failing = "$leak, failures, function_of(failing_site), failing_allocation BETWEEN 1 AND 1000";
my %leaks = (
	leak_when_failing => '100|1|TopMemoryContext|lasting_record|1|short_name|t',
	build_context => "1024|1|built context|[memory contexts]|1|build_context|t\n"
	  . '100|1|built context|build_context|1|short_name|t');
sub check_failing
{
	my ($how) = @_;

	for my $function (sort keys %leaks)
	{
		my ($answer, $said) = check("SELECT $function(false)", 'each', $failing);

		is($answer, $leaks{$function}, "what stays after a failed allocation is found, $how: $function");
		like($said, qr/NOTICE:  each of the statement's \d+ allocations failed once/, 'and how many failed is told');
		($answer, $said) = check("SELECT $function(true)", 'each', $failing);
		is($answer, '', "where that is mended, nothing is found, $how: $function");
	}
	return;
}
check_failing('malloc not known');
($answer, $said) = check('SELECT leak_malloc_when_failing(false)', 'each', $failing);
like($said, qr/HINT:  What stays of malloc in libraries was not followed/, 'it is told that malloc is not followed');

# What is left without a failure is no finding of failures.
($answer, $said) = check('SELECT leak_top(16, 1)', 'each', $failing);
is($answer, '', 'what a statement leaves in any case is not counted');
($answer, $said) = check('SELECT leak_top(16, 1), leak_when_failing(false)', 'each', $failing);
is($answer, $leaks{leak_when_failing}, 'but what stays of a failure beside it is');

# A cache is not built while an allocation of a statement fails, unless the statement empties it.
$node->safe_psql('postgres', "CREATE FUNCTION use_half_built_cache() RETURNS bool AS '$caches' LANGUAGE C");
($answer, $said) = check('SELECT use_half_built_cache()', 'each', $failing);
is($answer, '', 'what fills a cache is not tried');
($answer, $said) = check('SELECT _pg_leakhunt_reset_caches(); SELECT use_half_built_cache()', 'each', $failing);
is($answer, '200|1|CacheMemoryContext|rebuild|1|use_half_built_cache|t', 'it is where the statement empties the caches');

# Statements of the server's own, on all of whose paths something fails.
for my $query (
	'SELECT relname FROM pg_class ORDER BY 1',
	'LOCK TABLE kept; INSERT INTO kept VALUES (1)',
	'SELECT catches()',
	'CREATE TEMP TABLE passing AS SELECT 1 AS a')
{
	($answer, $said) = check($query, 'each', $failing);
	is($answer, '', "PostgreSQL leaves nothing where it gets no memory: $query");
	like($said, qr/NOTICE:  each of the statement's \d+ allocations failed once/, 'each is said to have failed where none was left out');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM kept'), '0', 'effects are rolled back');
($answer, $said) = check('SELECT sum(length(md5(g::text))) FROM generate_series(1, 2000) g', 'each', $failing);
like($said, qr/NOTICE:  \d+ of the statement's \d+ allocations failed once\nDETAIL:  After the first 1000, one in/,
	'of many allocations some fail');

# What is refused, or ends.
for my $wrong (
	[ q('SELECT 1', fail => 'often'), qr/ERROR:  fail must be "statement", "each" or null, not "often"/ ],
	[ q('SELECT 1 / 0', fail => 'each'),
		qr/ERROR:  division by zero\nCONTEXT:.*execution by pg_leakhunt_check that is to raise no error/s ],
	[ q('COMMIT', fail => 'statement'), qr/ERROR:  pg_leakhunt_check cannot run transaction commands/ ],
	[ q('SELECT pg_sleep(0.001)', 1000000, fail => 'statement'), qr/canceling statement due to statement timeout/ ],
	[ q('SELECT pg_sleep(0.01)', fail => 'each'), qr/canceling statement due to statement timeout/ ])
{
	my ($arguments, $message) = @$wrong;
	my $limit = $arguments =~ /pg_sleep/ ? '500ms' : 0;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SET statement_timeout = '$limit'; SELECT * FROM pg_leakhunt_check($arguments)");
	like($stderr, $message, "a check of $arguments ends with the reason");
}
my (undef, $after) = $node->psql(
	'postgres', q{
	SELECT count(*) FROM pg_leakhunt_check('SELECT 1 / 0', fail => 'each');
	SELECT count(*) FROM pg_leakhunt_check('SELECT leak_top(16, 1)')},
	on_error_stop => 0);
is($after, '1', 'a session can check after a check that failed');

# An error handler that rolls back what its caller has begun.
my (undef, undef, $refused) = $node->psql('postgres',
	q{SELECT * FROM pg_leakhunt_check('SELECT end_subtransaction_when_failing(false)', fail => 'each')});
like($refused,
	qr/ERROR:  the statement ended a subtransaction that it had not begun\nHINT:.*\nCONTEXT:  execution by pg_leakhunt_check in which allocation \d+ was to fail/,
	'a subtransaction that the statement has not begun is not for it to end');
($answer, $said) = check('SELECT end_subtransaction_when_failing(true)', 'each', $failing);
is($answer, '', 'where that is mended, nothing is found');

# A crash has its allocation in the log.
($answer, $said) = check('SELECT crash_when_failing(true)', 'each', $failing, 'SET pg_leakhunt.check_trace = on');
is($answer, '', 'with a trace, a check finds the same');
my $offset = -s $node->logfile;
$node->psql('postgres',
	q{SET pg_leakhunt.check_trace = on; SELECT pg_leakhunt_check('SELECT crash_when_failing(false)', fail => 'each')});
wait_until(sub { slurp_file($node->logfile, $offset) =~ /terminated by signal/ }, 'the server notices the crash');
$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not start again';
my @lines = grep { /makes allocation|DETAIL:  It asks|terminated by signal/ }
  split /\n/, slurp_file($node->logfile, $offset);
my ($crash) = grep { $lines[$_] =~ /terminated by signal/ } 0 .. $#lines;
like($lines[ $crash - 1 ], qr/DETAIL:  It asks for 64 bytes in "\w+", at crash_when_failing \(failing_paths\.c:\d+\)\./,
	'the last allocation in the log before a crash is that which failed');

# Of malloc, where that is tracked.
$node->stop;
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
check_failing('malloc sampled');
($answer, $said) = check('SELECT leak_malloc_when_failing(false)', 'each', $failing);
is($answer, '100|1|[malloc]|record_of_library|1|short_name|t', 'a leak of malloc after a failed allocation is found');
unlike($said, qr/HINT/, 'and nothing was not followed');
($answer, $said) = check('SELECT leak_malloc_when_failing(true)', 'each', $failing);
is($answer, '', 'where that is mended, nothing is found');
$node->stop;
done_testing();
