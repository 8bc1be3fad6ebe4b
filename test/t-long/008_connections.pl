# Many short connections, and many at once: needs pgbench and a server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "max_connections = 250\n");
my ($postmaster) =
  split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $directory = profile_directory($node);

# Lines of a file of the postmaster's in /proc that match a pattern.
sub postmaster_lines
{
	my ($file, $pattern) = @_;

	return grep { /$pattern/ } split /\n/, slurp_file("/proc/$postmaster/$file");
}

# Has each profile a process, if perhaps one that is about to exit?
sub no_orphans
{
	return !grep { /^\d/ && !-e "/proc/$_" } profile_files($directory);
}

# Connections that do what most do: a query, and off.
sub connect_often
{
	my ($transactions) = @_;

	$node->command_ok(
		[
			'pgbench', '-n', '-C', '-c', 4, '-j', 2, '-t', $transactions / 4,
			'-b', 'select-only', '-h', $node->host, '-p', $node->port,
			'postgres'
		],
		"$transactions connections");
}

# The postmaster hears of settings at once, and of requests only when it has a sample.
sub set_interval
{
	my ($interval) = @_;

	ask($node, "ALTER SYSTEM SET pg_leakhunt.sample_interval = $interval");
	ask($node, 'SELECT pg_reload_conf()');
}

# How many kB of the module's variables a process has copies of for itself.  The
# variables that are 0 at first are in a mapping behind the file's.
sub own_copies_kb
{
	my ($pid) = @_;
	my ($sum, $last_end, $is_ours) = (0, '', 0);

	for my $line (split /\n/, slurp_file("/proc/$pid/smaps"))
	{
		if (my ($start, $end, $file) =
			$line =~ /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)/)
		{
			$is_ours = $file =~ m{/pg_leakhunt\.so$}
			  || ($is_ours && $file eq '' && $start eq $last_end);
			$last_end = $end;
		}
		$sum += $1 if $is_ours && $line =~ /^Private_Dirty: +(\d+)/;
	}
	return $sum;
}

$node->command_ok(
	[
		'pgbench', '-i', '-s', '1', '-q', '-h', $node->host, '-p',
		$node->port, 'postgres'
	],
	'pgbench makes its tables');
connect_often(2000);

# Its first sample gives the postmaster a profile, and stacks that it remembers: it has
# them before its mappings are counted.
set_interval('1');
wait_until(
	sub {
		connect_often(100);
		ask($node, "SELECT samples_taken > 0 FROM pg_leakhunt_sampling WHERE pid = $postmaster") eq 't';
	},
	'the postmaster has samples');
set_interval('DEFAULT');
connect_often(2000);
my ($own_before) = join(' ', postmaster_lines('status', '^VmData')) =~ /(\d+)/;
my $maps_before = postmaster_lines('maps', '.');
my $many = rounds(20_000);
connect_often($many);
my ($own_after) = join(' ', postmaster_lines('status', '^VmData')) =~ /(\d+)/;
my $maps_after = postmaster_lines('maps', '.');

ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
	),
	"$many connections have ended");
wait_until(\&no_orphans, "no file is left of $many connections");
is_deeply([ glob($node->data_dir . '/pg_leakhunt/*') ],
	[], "no dump is left of $many connections");
cmp_ok($maps_after - $maps_before,
	'<=', 2, "$many connections add no mappings to the postmaster");
note("$maps_before mappings before, $maps_after after");
# what it has asked the kernel for, whether or not it is in memory now
cmp_ok($own_after - $own_before,
	'<', 300, "$many connections add next to no memory to the postmaster (kB)")
  or diag("$own_before kB before, $own_after kB after");

# What it writes to of our variables lies side by side, and it leaves those of the
# postmaster's profile alone: each page would be a page fault.  A session that happens to
# take a sample has more, so several are looked at.  Before 17, where the postmaster holds
# sampled chunks, each also empties their filter, which lies on two pages.
my ($copies) = sort { $a <=> $b } map {
	my $short = $node->background_psql('postgres');
	my $own = own_copies_kb(session_pid($short));
	$short->quit;
	$own;
} 1 .. 5;
cmp_ok($copies, '>', 0, 'a session has variables of ours for itself');
my $filter = $node->pg_version < 17
  ? ask($node, "SELECT 4 * least(samples_live, 2) FROM pg_leakhunt_sampling WHERE pid = $postmaster")
  : 0;
cmp_ok($copies - $filter, '<=', 8, 'the variables of ours that a session has for itself are on a page, or two (kB)');

# 200 connections at once, all of which have a profile that others read.
my @sessions = map { $node->background_psql('postgres') } 1 .. 200;
for my $session (@sessions)
{
	$session->query_safe(
		'SET pg_leakhunt.sample_interval = 1; SELECT leak_top(100, 50)');
}
is( $node->safe_psql('postgres',
		"SELECT count(*), sum(live_bytes) FROM pg_leakhunt_report WHERE function_of(site) = 'leaking_top'"
	),
	'200|1000000',
	'200 sessions at once are seen at once');
$_->quit for @sessions;
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
	),
	'200 sessions have ended');
wait_until(\&no_orphans, 'no file is left of 200 sessions');

$node->stop;
done_testing();
