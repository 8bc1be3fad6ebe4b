# The patch of the method tables: either all of it is there, or nothing of it.
# Needs a server on which a library is preloaded by the dynamic linker, and a
# session for each store that fails.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($failing_store, $method_tables) =
  map { $ENV{LEAKER} =~ s/leaker$/$_/r } qw(failing_store method_tables);
my $node = PostgreSQL::Test::Cluster->new('main');

$node->init;
{
	local $ENV{LD_PRELOAD} = "$failing_store.so";
	$node->start;
}
$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION pg_leakhunt;
	CREATE FUNCTION method_tables() RETURNS bytea LANGUAGE c AS '$method_tables';
	CREATE FUNCTION refuse_store(int) RETURNS void LANGUAGE c AS '$method_tables'});

# Load the module with one store refused; returns what is said of the tables.
sub load_with
{
	my ($refused) = @_;
	my ($stdout, $stderr);

	$node->psql(
		'postgres', qq{
		CREATE TEMP TABLE before AS SELECT method_tables() AS tables;
		DO 'BEGIN PERFORM refuse_store($refused); END';
		LOAD 'pg_leakhunt';
		SELECT CASE WHEN tables = method_tables() THEN 'same' ELSE 'changed' END
		FROM before;
		SELECT sum(length(repeat('x', g))) FROM generate_series(1, 1000) g},
		stdout => \$stdout,
		stderr => \$stderr);
	return ($stdout, $stderr);
}

# Hooks of three types: free (or the four methods of marked chunks), realloc and
# alloc; and alloc of Bump.
my $stores = $node->pg_version >= 17 ? 3 * 6 + 1 : 3 * 3;
my @left_something =
  grep { (load_with($_))[0] ne "same\n500500" } (1 .. $stores);
is_deeply(\@left_something, [],
	"if one of $stores stores is refused, all tables are what they were");

my ($stdout, $stderr) = load_with(1);
like(
	$stderr,
	qr/WARNING:  pg_leakhunt is inactive\nDETAIL:  Could not change the method table of AllocSet contexts: Permission denied\./,
	'a first store that is refused is told with the reason');
($stdout, $stderr) = load_with($stores);
like(
	$stderr,
	qr/Could not change the method table of \w+ contexts: Permission denied\./,
	'a last store that is refused is told with the reason');
($stdout, $stderr) = load_with($stores + 1);
is($stdout, "changed\n500500", 'if none is refused, the tables change');
is($stderr, '', 'if none is refused, there is no message');

# What a process has mapped of its executable: from where to where, and with what
# protection.  Neighbours with the same protection are one: where the tables are in
# plain read-only memory, their page stays a mapping of its own.
sub executable_memory
{
	my (@maps) = @_;
	my @memory;

	for (grep { m{ /\S+/postgres$} } @maps)
	{
		my ($start, $end, $protection) = /^(\w+)-(\w+) (\S+)/ or die $_;

		if (@memory && $memory[-1][1] eq $start && $memory[-1][2] eq $protection)
		{
			$memory[-1][1] = $end;
		}
		else
		{
			push @memory, [ $start, $end, $protection ];
		}
	}
	return \@memory;
}

# The memory of the tables is as it was: read-only or code, not both.
my $read_maps = q{SELECT pg_read_file('/proc/self/maps')};
my @maps = split /\n/, ask($node, "LOAD 'pg_leakhunt'; $read_maps");
my $without = executable_memory(split /\n/, ask($node, $read_maps));
is_deeply([ grep { /^\S+ .wx/ } @maps ],
	[], 'no memory is writable and executable');
cmp_ok(scalar(@$without), '>', 2, 'an executable has several protections');
is_deeply(executable_memory(@maps),
	$without, 'all of the executable has the protection that it had');
$node->stop;

# What each palloc does is code of its own where that is near the server's, and of the
# library where the system gives no memory to new code.
sub near_code
{
	my (@lines) = @_;
	my ($start) = map { hex } map { m{^(\w+)-.* /\S+/postgres$} ? $1 : () } @lines;

	return grep {
		/^(\w+)-\w+ r-xp 00000000 00:00 0\s*$/
		  && hex($1) < $start
		  && hex($1) > $start - 2**31
	} @lines;
}

SKIP:
{
	skip 'this processor has no such code', 4 if `uname -m` !~ /^x86_64/;
	is(scalar(near_code(@maps)), 1, 'there is code of ours near the server');

	# PR_SET_MDWE, as by MemoryDenyWriteExecute in units of systemd
	my $status = system(
		$^X, '-e', 'syscall(157, 65, 1, 0, 0, 0) == 0 or exit 77; exec @ARGV',
		'pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start');
	skip 'this kernel gives new code to all', 3 if $status >> 8 == 77;
	is($status, 0, 'a server starts where new code is refused');
	@maps = split /\n/, ask($node, "LOAD 'pg_leakhunt'; $read_maps");
	is(scalar(near_code(@maps)), 0, 'there is no code of ours near a server where new code is refused');
	cmp_ok(
		ask($node,
			"LOAD 'pg_leakhunt'; SET pg_leakhunt.sample_interval = 1; PREPARE p AS SELECT 1; SELECT sum(live_count) FROM pg_leakhunt_report WHERE pid = pg_backend_pid()"
		),
		'>', 10, 'a server where new code is refused samples all the same');
	system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, 'stop');
}

done_testing();
