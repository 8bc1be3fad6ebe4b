# What it costs to look at many large profiles: memory for one at a time, and no
# reading of those that are not for the caller.  Needs files that stand for other
# processes.
use strict;
use warnings;

use File::Copy;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Test::More;

my $node = new_server('main');
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

# A profile with some thousand sites, of which each has grown.
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe(
	"SELECT format('PREPARE p%s AS SELECT %s', i, i) FROM generate_series(1, 1000) i \\gexec"
);
is(ask($node, 'SELECT pg_leakhunt_baseline_all() > 0'), 't', 'there is a profile for a baseline');
my $directory = profile_directory($node);
my $bytes = -s "$directory/$pid";
my $baseline_bytes = -s "$directory/baseline.$pid";
note("profile $bytes, baseline $baseline_bytes bytes");
cmp_ok($baseline_bytes, '>', 50_000, 'the baseline has many sites');

# The most memory that a query about all processes takes.
sub peak_memory
{
	my ($query) = @_;
	my ($kilobytes) =
	  ask($node,
		"SET work_mem = '64kB'; $query; SELECT pg_read_file('/proc/self/status')")
	  =~ /^VmHWM:\s+(\d+) kB/m;

	return $kilobytes * 1024;
}

my @queries = (
	'SELECT count(*) FROM pg_leakhunt_report(\'all\', false)',
	'SELECT count(*) FROM pg_leakhunt_contexts',
	'SELECT count(growth_bytes) FROM pg_leakhunt_processes',
	'SELECT count(*) FROM pg_leakhunt_suspects');
my %peak = map { $_ => peak_memory($_) } @queries;
my $copies = 40;
copy("$directory/$pid", "$directory/$pid.$_") or die $! for 1 .. $copies;
is( ask($node, "SELECT count(*) FROM pg_leakhunt_processes WHERE pid = $pid AND growth_bytes IS NOT NULL"),
	$copies + 1, 'each copy of the profile is a process with growth');
for my $query (@queries)
{
	cmp_ok(peak_memory($query), '<', $peak{$query} + $copies * $baseline_bytes / 2,
		"the memory for many profiles is bounded: $query");
}

# Bytes that a role without privileges reads when it looks at all processes.
ask($node, 'CREATE ROLE plain');
for my $query (@queries, 'SELECT pg_leakhunt_baseline_all()',
	"SELECT count(*) FROM pg_leakhunt_report($pid)")
{
	my @read = ask(
		$node, qq{
		SET ROLE plain; $query; RESET ROLE;
		SELECT pg_read_file('/proc/self/io');
		SET ROLE plain; $query; RESET ROLE;
		SELECT pg_read_file('/proc/self/io')}) =~ /^rchar: (\d+)/mg;

	cmp_ok($read[1] - $read[0], '<', $copies * 64 * 1024,
		"a role without privileges reads little: $query");
}
unlink glob("$directory/$pid.*");
$session->quit;
$node->stop;
done_testing();
