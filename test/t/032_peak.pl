# What a process held when it was largest: in the views, pictures and profiles, while
# it runs and when it is gone, with a line in the log; and dumps while it grows by
# whatever memory.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 4kB
pg_leakhunt.dump_min_bytes = 1GB
pg_leakhunt.dump_min_peak = 30MB
CONF
my $incidents = $ENV{LEAKER} =~ s/leaker$/incidents/r;
$node->command_ok(
	[
		'psql', '-X', '-q', '-d', $node->connstr('postgres'),
		'-v', "incidents=$incidents.so", '-f', "$incidents.sql"
	],
	'functions of incidents are defined');
my $dumps = $node->data_dir . '/pg_leakhunt';

# A session that held much, for a statement, and has given it back.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe('SELECT hold_chunk(40000000)');
$session->query_safe('SELECT release_chunk()');
is( ask($node, "SELECT live_bytes < 10000000, peak_bytes > 39000000, peak_at BETWEEN now() - '10 minutes'::interval AND now() FROM pg_leakhunt_processes WHERE pid = $pid"),
	't|t|t', 'the process had a peak at a time');
my $site = "function_of(name) = 'hold_chunk'";
is( ask($node, "SELECT live_bytes, peak_bytes, query ~ '^SELECT hold_chunk' FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'hold_chunk'"),
	'0|40000000|t', 'what a site held then is in the report');

# The same source as a table and in the other forms: of the process, then of its dump.
sub check_forms
{
	my ($source, $what) = @_;

	is( ask($node, "SELECT flat_bytes, flat_count, cum_count FROM pg_leakhunt_top($source, peak => true) WHERE $site"),
		'40000000||', "$what: in the table, without a number of chunks");
	is(ask($node, "SELECT flat_bytes FROM pg_leakhunt_top($source) WHERE $site"),
		'0', "$what: and not in the one of what is live");
	my ($bytes) = $node->safe_psql('postgres', "SELECT pg_leakhunt_folded($source, peak => true)") =~ /;hold_chunk (\d+)$/m;
	is($bytes, 40_000_000, "$what: in folded stacks");
	my $picture = $node->safe_psql('postgres', "SELECT pg_leakhunt_flamegraph($source, peak => true)");
	like($picture, qr/client backend $pid: \d+ MB at its peak/, "$what: the picture says what it shows");
	like($picture, qr/<title>hold_chunk[^<]*&#10;38 MB, /, "$what: and shows it");
	unlike($picture, qr/objects/, "$what: without numbers of chunks");

	SKIP:
	{
		skip 'there is no go', 1 if system('command -v go >/dev/null') != 0;
		my $path = $node->basedir . '/peak.pb';
		my ($top, $stderr) = ('', '');
		open my $out, '>:raw', $path or die $!;
		print $out pack('H*', $node->safe_psql('postgres',
				"SELECT encode(pg_leakhunt_pprof($source, peak => true), 'hex')"));
		close $out;
		IPC::Run::run([ 'go', 'tool', 'pprof', '-top', '-unit=B', $path ], '>', \$top, '2>', \$stderr);
		like($top, qr/Type: peak_space.*40000000B .* hold_chunk$/ms, "$what: pprof reads it")
		  or diag($stderr);
	}
	my (undef, undef, $error) = $node->psql('postgres',
		$source =~ /'/ ? "SELECT pg_leakhunt_folded($source, base => $source, peak => true)"
		: "SELECT pg_leakhunt_folded($source, growth => true, peak => true)");
	like($error, qr/ERROR:  cannot show growth and peak at once/, "$what: not with growth");
}
check_forms($pid, 'process');
$session->quit;

# It leaves a dump for its peak, and says so in the log.
wait_until(sub { glob("$dumps/$pid.*.exit.heap") }, 'a dump at exit');
my ($file) = map { s{.*/}{}r } glob("$dumps/$pid.*.exit.heap");
is(ask($node, "SELECT live_bytes < 10000000, peak_bytes > 39000000 FROM pg_leakhunt_dumps WHERE file = '$file'"),
	't|t', 'it is of little, and says how much it was');
is( ask($node, "SELECT peak_bytes FROM pg_leakhunt_read_dump('$file') WHERE function_of(site) = 'hold_chunk'"),
	'40000000', 'the site is in it');
check_forms("'$file'", 'dump');
my $time = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d/;
like( slurp_file($node->logfile),
	qr/\[$pid\].* LOG:  leak approximation summary: client backend, .*: ~\d+ \w+ \+\/- \d+ \w+ held at exit, caches included; peak ~\d\d MB at $time, ~38 MB of it by hold_chunk in TopMemoryContext; private memory .*; >= \d+ call sites in "pg_leakhunt\/\Q$file\E"\n.*DETAIL:  Statement: SELECT hold_chunk\(40000000\)/,
	'the log says what held most then');
is(() = slurp_file($node->logfile) =~ /\[$pid\].* LOG:  (?:leak|memory)/g, 1, 'in one line');

# A smaller peak leaves nothing; one that only malloc had does.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT hold_chunk(10000000)');
$session->quit;
my $small = $pid;
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT free_and_keep(60)');
$session->query_safe('SELECT 1');
$session->quit;
wait_until(sub { glob("$dumps/$pid.*.exit.heap") }, 'a dump for what malloc had');
like(slurp_file((glob("$dumps/$pid.*.exit.heap"))[0]),
	qr/ own_peak_bytes=(?:[5-9]\d|\d{3,})\d{6} /, 'which says how much that was');
is_deeply([ glob("$dumps/$small.*.heap") ], [], 'a smaller peak leaves no dump');

# What work_mem allows is worth nothing, if settings allow more than dump_min_peak.
for my $kilobytes (4096, 65536)
{
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	$session->query_safe("SET work_mem = $kilobytes");
	$session->query_safe('SELECT hold_chunk(40000000), release_chunk()');
	$session->quit;
	wait_until(sub { !-e "/proc/$pid" }, "work_mem of $kilobytes kB: gone");
	is(scalar(() = glob("$dumps/$pid.*.exit.heap")), $kilobytes < 10000 ? 1 : 0,
		$kilobytes < 10000 ? 'more than twice what a node may take leaves a dump' : 'less does not');
}

# A process that grows outside of contexts writes dumps, too.
set_and_reload($node, 'pg_leakhunt.dump_growth' => '20MB');
$session = $node->background_psql('postgres');
$pid = session_pid($session);
for my $megabytes (30, 60, 90)
{
	$session->query_safe("SELECT free_and_keep($megabytes); SELECT pg_sleep(1.1); SELECT leak_top(1000, 100)");
}
cmp_ok(scalar(() = glob("$dumps/$pid.*.growth.heap")), '>=', 1, 'a dump of growth by malloc');
$session->quit;

$node->stop;
done_testing();
