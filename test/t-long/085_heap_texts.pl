# The text that lies beside a dump at exit, as other people's tools read it: jeprof and
# pprof name the function, and have the same figures.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('jeprof', 'go');
my $node = new_server('main', "pg_leakhunt.dump_min_bytes = '1MB'\n");
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $postgres = readlink("/proc/$postmaster/exe");

# The text that a session leaves which runs statements, and ends.
sub text_after
{
	my ($sql) = @_;
	my ($pid) = split /\n/, $node->safe_psql('postgres', "SELECT pg_backend_pid(); $sql");

	wait_until(sub { !-e "/proc/$pid" }, 'a session is over');
	my ($file) = dump_files($node, $pid);
	return dump_text($file);
}

my $file = text_after('SELECT leak_top(64, 1000000)');
my ($bytes) = slurp_file($file) =~ /^heap profile: \d+: (\d+) /m;
my $jeprof = run_tool('jeprof', '--text', '--cum', $postgres, $file);
like($jeprof, qr/\bleaking_top\b/, 'jeprof names the function');
my @cumulative = grep { /%/ && /leak/ } split /\n/, $jeprof;
like($cumulative[0] // '', qr/100\.0%|9\d\.\d%/, 'jeprof finds nearly all memory in the leak');
my ($jeprof_total) = $jeprof =~ /^Total: ([\d.]+) MB/m;
cmp_ok(abs($jeprof_total - $bytes / 1048576), '<', 0.06, 'jeprof has the same total');

my $pprof = run_tool('go', 'tool', 'pprof', '-top', '-cum', '-unit=B', '-sample_index=inuse_space', $postgres, $file);
like($pprof, qr/\bleaking_top\b/, 'pprof names the function');
my ($first) = $pprof =~ /^.*flat%.*\n(.*)$/m;
like($first, qr/100%|9\d\.\d+%/, 'the first line of pprof is nearly all memory');
like($pprof, qr/of ${bytes}B total/, 'pprof has the same total');

# at depth, and with objects without bytes, on which jeprof would stumble
$file = text_after('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(0, 1000), leak_at_depth(200, 64, 100000)');
like(run_tool('jeprof', '--text', $postgres, $file), qr/leaking_top/, 'jeprof reads an exact text');

$file = text_after(q{SET pg_leakhunt.sample_interval = 1;
	SELECT leak_named_context(E'a b\\nheap profile: 1: 2 [3: 4] @\\t%41"', 100), leak_top(64, 100000)});
like(run_tool('jeprof', '--text', $postgres, $file), qr/leaking_top/, 'jeprof reads a text with a hostile context name');

$node->stop;
done_testing();
