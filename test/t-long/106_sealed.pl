# Servers whose read-only memory is sealed, as by the dynamic linker after -z memory-seal: no
# protection can be changed there, and the kernel stores all the same, if it may.  Needs a
# kernel with mseal, and servers that are sealed when they start.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# mseal of nothing, which a kernel without it does not know
plan skip_all => 'this kernel has no mseal, which came with Linux 6.10' if syscall(462, 0, 0, 0) != 0;

my ($failing_store, $method_tables, $sealed_tables) =
  map { $ENV{LEAKER} =~ s/leaker$/$_/r } qw(failing_store method_tables sealed_tables);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# Start with a library preloaded by the linker, and settings; returns what is in the log of it.
sub start_with
{
	my ($conf) = @_;
	my $offset = -e $node->logfile ? -s $node->logfile : 0;

	unlink $node->data_dir . '/postgresql.auto.conf';
	append_to_file($node->data_dir . '/postgresql.auto.conf', $conf);
	local $ENV{LD_PRELOAD} = "$failing_store.so";
	$node->start;
	return slurp_file($node->logfile, $offset);
}

# What the kernel says of each mapping of the postmaster, and of the executable's that are sealed.
sub mappings
{
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	return split /^(?=[0-9a-f]+-[0-9a-f]+ )/m, slurp_file("/proc/$pid/smaps");
}

sub sealed_mappings
{
	return grep { m{/postgres$}m && /^VmFlags:.* sl\b/m } mappings();
}

# The postmaster is sealed before it loads pg_leakhunt.
my $log = start_with("shared_preload_libraries = '$sealed_tables.so, pg_leakhunt'\npg_leakhunt.sample_interval = 1\n");
unlike($log, qr/WARNING/, 'pg_leakhunt is loaded by a sealed server without a WARNING');
cmp_ok(scalar(sealed_mappings()), '>', 0, 'the server is sealed');
ok(!grep(/^[0-9a-f]+-[0-9a-f]+ .wx/, mappings()), 'no memory is writable and executable');
SKIP:
{
	skip 'this processor has no such code', 1 if `uname -m` !~ /^x86_64/;
	is(scalar(grep { /^\S+ r-xp 00000000 00:00 0\s*$/m } mappings()), 1, 'there is code of ours near the server');
}
define_leakers($node);
is($node->safe_psql('postgres', q{
		SELECT leak_top(64, 1000), leak_generation(100, 200), leak_slab(30);
		SELECT live_count, live_bytes FROM pg_leakhunt_report
		WHERE context_name IN ('TopMemoryContext', 'leaker generation', 'leaker slab')
		  AND function_of(site) LIKE 'leaking_%' ORDER BY 1}),
	"|\|\n30|1920\n200|20000\n1000|64000", 'leaks of three types of contexts are found to the byte');
is($node->safe_psql('postgres', q{
		SELECT allocate_in_balance(64, 1000);
		SELECT coalesce(sum(live_count), 0) FROM pg_leakhunt_report WHERE site LIKE 'allocate_in_balance%'}) =~ s/^\n//r,
	'0', 'what is freed is no sample any more');
$node->stop;

# Either all of the patch is there, or nothing of it: each of its stores is refused once.
start_with("shared_preload_libraries = '$sealed_tables.so'\n");
$node->safe_psql('postgres', qq{
	CREATE FUNCTION method_tables() RETURNS bytea LANGUAGE c AS '$method_tables';
	CREATE FUNCTION refuse_store(int) RETURNS void LANGUAGE c AS '$method_tables'});

sub load_with
{
	my ($refused) = @_;
	my ($stdout, $stderr);

	$node->psql('postgres', qq{
		CREATE TEMP TABLE before AS SELECT method_tables() AS tables;
		DO 'BEGIN PERFORM refuse_store($refused); END';
		LOAD 'pg_leakhunt';
		SELECT CASE WHEN tables = method_tables() THEN 'same' ELSE 'changed' END FROM before;
		SELECT sum(length(repeat('x', g))) FROM generate_series(1, 1000) g},
		stdout => \$stdout,
		stderr => \$stderr);
	return ($stdout, $stderr);
}

# Each store takes two calls of the system: mprotect, which the kernel refuses, and the write.
my $calls = 2 * ($node->pg_version >= 17 ? 3 * 6 + 1 : 3 * 3);
my @left_something = grep { (load_with($_))[0] ne "same\n500500" } (1 .. $calls);
is_deeply(\@left_something, [], "if one of $calls calls is refused, all tables are what they were");
my ($stdout, $stderr) = load_with(1);
like($stderr, qr/Could not change the method table of AllocSet contexts: Permission denied\./,
	'where a policy refuses the change, the kernel is not asked to write');
($stdout, $stderr) = load_with(2);
like($stderr, qr{The method table of AllocSet contexts is in sealed memory, and the kernel does not write there by "/proc/self/mem": Permission denied\.},
	'where the kernel refuses, too, both are told');
($stdout, $stderr) = load_with($calls + 1);
is("$stdout$stderr", "changed\n500500", 'if none is refused, the tables change');
$node->stop;

# A kernel that does not store: one WARNING, and a server that works.
$log = start_with("shared_preload_libraries = '$sealed_tables.so, pg_leakhunt'\nsealed_tables.kernel_stores = off\n");
my @warnings = $log =~ /WARNING:  (.*)/g;
is_deeply(\@warnings, ['pg_leakhunt is inactive'], 'where the kernel does not store, there is one WARNING');
like($log, qr{DETAIL:  The method table of AllocSet contexts is in sealed memory, and the kernel does not write there by "/proc/self/mem": Input/output error\.},
	'it has the reason');
is($node->safe_psql('postgres', 'SELECT sum(length(repeat(\'x\', g))) FROM generate_series(1, 1000) g'), '500500',
	'and the server works');
($stdout, $stderr) = ($node->psql('postgres', 'SELECT count(*) FROM pg_leakhunt_sampling'))[1, 2];
like($stderr, qr/WARNING:  pg_leakhunt is inactive in this session\nDETAIL:  The method table of AllocSet contexts is in sealed memory/,
	'views tell it, too');
$node->stop;

done_testing();
