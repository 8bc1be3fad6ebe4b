# A server that takes methods of memory contexts from modules, by the patch in contrib: where it
# preloads pg_leakhunt, nothing is patched, and all is found as elsewhere; other modules can
# replace methods, too.  Needs such a server, which test/upstream builds.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($failing_store, $method_tables, $counting) =
  map { $ENV{LEAKER} =~ s/leaker$/$_/r } qw(failing_store method_tables registered_methods);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# Start with these libraries; returns what is in the log of it.
sub start_with
{
	my ($libraries) = @_;
	my $offset = -e $node->logfile ? -s $node->logfile : 0;

	unlink $node->data_dir . '/postgresql.auto.conf';
	append_to_file($node->data_dir . '/postgresql.auto.conf',
		"shared_preload_libraries = '$libraries'\npg_leakhunt.proof_max_memory = 0\n");
	local $ENV{LD_PRELOAD} = "$failing_store.so";
	$node->start;
	return slurp_file($node->logfile, $offset);
}

# What is said of leaks of all types of contexts, and of what was freed, where every allocation is a
# sample.
sub finds_leaks
{
	my ($how) = @_;

	is($node->safe_psql('postgres', q{
			SET pg_leakhunt.sample_interval = 1;
			SELECT count(leak_top(64, 1000)), count(leak_generation(100, 200)), count(leak_slab(30)), count(leak_by_repalloc(10, 50)), count(allocate_in_balance(64, 1000));
			SELECT function_of(site), context_name, live_count, live_bytes FROM pg_leakhunt_report
			WHERE stack::text ~ '(leaking_|growing_|allocate_in)' AND live_count > 0 ORDER BY 1, 2}),
		"1|1|1|1|1\ngrowing_by_repalloc|TopMemoryContext|1|500\nleaking_in|leaker generation|200|20000\nleaking_in|leaker slab|30|1920\nleaking_top|TopMemoryContext|1000|64000",
		"leaks are found to the byte, and what is freed is gone: $how");
}

start_with('');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION test_memory_methods;
	CREATE FUNCTION counted_methods(int, int) RETURNS int8 LANGUAGE c AS '$counting';
	CREATE FUNCTION method_tables() RETURNS bytea LANGUAGE c AS '$method_tables';
	CREATE FUNCTION tried_stores() RETURNS int LANGUAGE c AS '$method_tables'});
define_leakers($node);
my $tables = $node->safe_psql('postgres', 'SELECT method_tables()');
is($node->safe_psql('postgres', q{LOAD 'pg_leakhunt'; SHOW pg_leakhunt.method_tables; SELECT tried_stores() > 0}),
	"patched\nt", 'in a session that loads it, the tables are patched');
$node->stop;

# What is preloaded registers its methods.
my $log = start_with('pg_leakhunt');
unlike($log, qr/WARNING/, 'no WARNING is in the log of a server that takes methods');
is($node->safe_psql('postgres', 'SHOW pg_leakhunt.method_tables; SELECT tried_stores()'),
	"registered\n0", 'methods are registered, and no store was tried');
isnt($node->safe_psql('postgres', 'SELECT method_tables()'), $tables, 'the tables have methods of ours');
finds_leaks('pg_leakhunt alone');
is($node->safe_psql('postgres', q{SELECT state <> 'not loaded' FROM pg_leakhunt_processes WHERE backend_type = 'postmaster'}),
	't', 'the postmaster has it, too');
my ($code, undef, $stderr) = $node->psql('postgres', 'SELECT test_memory_methods_register(3)');
like($stderr, qr/ERROR:  failed to register memory context methods with ID 3/,
	'once it has started, a server takes no methods');
$node->stop;

# Another module, before pg_leakhunt: both see all.
start_with("$counting.so, pg_leakhunt");
is($node->safe_psql('postgres', 'SHOW pg_leakhunt.method_tables'), 'registered', 'methods of another module may be there');
finds_leaks('another module first');
is($node->safe_psql('postgres', 'SET pg_leakhunt.sample_interval = 1; SELECT counted_methods(100, 5000)'),
	5000 * 1000000 + 5000, 'a module before pg_leakhunt sees each allocation and each free');
$node->stop;

# Behind pg_leakhunt it sees each allocation, but not the frees of samples.
start_with("pg_leakhunt, $counting.so");
is($node->safe_psql('postgres', q{
		SET pg_leakhunt.sample_interval = 1;
		SELECT count(leak_top(64, 1000));
		SELECT sum(live_count), sum(live_bytes) FROM pg_leakhunt_report WHERE stack::text ~ 'leaking_top'}),
	"1\n1000|64000", 'leaks are found to the byte, where another module comes later');
is($node->safe_psql('postgres', 'SET pg_leakhunt.sample_interval = 1; SELECT counted_methods(100, 5000)'),
	5000 * 1000000, 'a module behind pg_leakhunt sees no free of a sample');
$node->stop;

# The module of the patch marks chunks by an id of its own.
for my $libraries ('test_memory_methods, pg_leakhunt', 'pg_leakhunt, test_memory_methods')
{
	start_with($libraries);
	is($node->safe_psql('postgres', 'SHOW pg_leakhunt.method_tables; SELECT * FROM test_memory_methods_calls()'),
		"registered\n10|10|10|10|3", "two modules that mark chunks do not disturb each other: $libraries");
	$node->stop;
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'no process has crashed');

done_testing();
