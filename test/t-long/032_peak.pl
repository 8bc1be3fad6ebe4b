# What a process held when it was largest: in the views, pictures and profiles, while
# it runs and when it is gone, with a line in the log; and dumps while it grows by
# whatever memory.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
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
	't|t|t', 'a process that gave memory back has a peak, and its time');
my $site = "function_of(name) = 'hold_chunk'";
is( ask($node, "SELECT live_bytes, peak_bytes, query ~ '^SELECT hold_chunk' FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'hold_chunk'"),
	'0|40000000|t', 'the report has what a site held at the peak');

# The same source as a table and in the other forms: of the process, then of its dump.
sub check_forms
{
	my ($source, $what) = @_;

	is( ask($node, "SELECT flat_bytes, flat_count, cum_count FROM pg_leakhunt_top($source, peak => true) WHERE $site"),
		'40000000||', "$what: the table of the peak has the site, without a number of chunks");
	is(ask($node, "SELECT flat_bytes FROM pg_leakhunt_top($source) WHERE $site"),
		'0', "$what: the table of what is live has nothing of the site");
	my ($bytes) = $node->safe_psql('postgres', "SELECT pg_leakhunt_folded($source, peak => true)") =~ /;hold_chunk (\d+)$/m;
	is($bytes, 40_000_000, "$what: the folded stacks of the peak have the site");
	my $picture = $node->safe_psql('postgres', "SELECT pg_leakhunt_flamegraph($source, peak => true)");
	like($picture, qr/client backend $pid: \d+ MB at its peak/, "$what: the picture says what it shows");
	like($picture, qr/<title>hold_chunk[^<]*&#10;38 MB, /, "$what: the picture has the site");
	unlike($picture, qr/objects/, "$what: the picture of the peak has no numbers of chunks");

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
		like($top, qr/Type: peak_space.*40000000B .* hold_chunk$/ms, "$what: pprof reads the profile of the peak")
		  or diag($stderr);
	}
	my (undef, undef, $error) = $node->psql('postgres',
		$source =~ /'/ ? "SELECT pg_leakhunt_folded($source, base => $source, peak => true)"
		: "SELECT pg_leakhunt_folded($source, growth => true, peak => true)");
	like($error, qr/ERROR:  cannot show more than one of growth, base and peak at once/, "$what: the peak can not be shown with growth");
}
check_forms($pid, 'process');
$session->quit;

# It leaves a dump for its peak, and says so in the log.
wait_until(sub { glob("$dumps/$pid.*.exit.profile") }, 'a process leaves a dump for its peak');
my ($file) = map { s{.*/}{}r } glob("$dumps/$pid.*.exit.profile");
is(ask($node, "SELECT live_bytes < 10000000, peak_bytes > 39000000 FROM pg_leakhunt_dumps WHERE file = '$file'"),
	't|t', 'a dump for a peak has what is live and what was held at the peak');
is( ask($node, "SELECT peak_bytes FROM pg_leakhunt_report('$file') WHERE function_of(site) = 'hold_chunk'"),
	'40000000', 'a dump for a peak has what its site held');
check_forms("'$file'", 'dump');
my $time = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d/;
like( slurp_file($node->logfile),
	qr/\[$pid\].* LOG:  leak approximation summary: ~\d+ bytes, ~\d+ objects, >= \d+ call sites? in "pg_leakhunt\/\Q$file\E"\n.*DETAIL:  Process: client backend, .*  Samples stand for \d+ \w+(?: \(\+\/- \d+ \w+\))? of what it held, caches included\.  Its peak was \d\d MB \(estimated from samples\) at $time, 38 MB of it by hold_chunk in TopMemoryContext\.  Its private memory .*  Statement: SELECT hold_chunk\(40000000\)/,
	'the log says what held most at the peak');
is(() = slurp_file($node->logfile) =~ /\[$pid\].* LOG:  (?:leak|memory)/g, 1, 'the log has one message for a peak');

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
wait_until(sub { glob("$dumps/$pid.*.exit.profile") }, 'a process leaves a dump for what malloc had');
cmp_ok(header_of(slurp_file((glob("$dumps/$pid.*.exit.profile"))[0]))->{own_peak_bytes},
	'>=', 50_000_000, 'a dump for what malloc had says how much that was');
is_deeply([ glob("$dumps/$small.*.profile") ], [], 'a smaller peak leaves no dump');

# What work_mem allows is worth nothing, if settings allow more than dump_min_peak.
for my $kilobytes (4096, 65536)
{
	$session = $node->background_psql('postgres');
	$pid = session_pid($session);
	$session->query_safe("SET work_mem = $kilobytes");
	$session->query_safe('SELECT hold_chunk(40000000), release_chunk()');
	$session->quit;
	wait_until(sub { !-e "/proc/$pid" }, "work_mem of $kilobytes kB: the session has ended");
	is(scalar(() = glob("$dumps/$pid.*.exit.profile")), $kilobytes < 10000 ? 1 : 0,
		$kilobytes < 10000 ? 'more than twice what a node may take leaves a dump' : 'what work_mem allows to a node leaves no dump');
}

# A process that grows outside of contexts writes dumps, too.
set_and_reload($node, 'pg_leakhunt.dump_growth' => '20MB');
$session = $node->background_psql('postgres');
$pid = session_pid($session);
for my $megabytes (30, 60, 90)
{
	$session->query_safe("SELECT free_and_keep($megabytes); SELECT pg_sleep(1.1); SELECT leak_top(1000, 100)");
}
cmp_ok(scalar(() = glob("$dumps/$pid.*.growth.profile")), '>=', 1, 'a process that grows by malloc writes a dump of growth');
$session->quit;

# Nothing is left of samples where there were none: the detail has only the peak.
set_and_reload($node, 'pg_leakhunt.dump_growth' => 0, 'pg_leakhunt.sample_interval' => 2_147_483_647);
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT free_and_keep(60)');
$session->query_safe('SELECT 1');
$session->quit;
$node->wait_for_log(
	qr/\[$pid\].* LOG:  leak approximation summary: ~0 bytes, ~0 objects, >= 0 call sites in "pg_leakhunt\/$pid\.1\.exit\.profile"\n.*DETAIL:  Process: client backend, user "[^"]*", database "postgres", application "[^"]*"\.  At its exit it had .*\.  All that was sampled has been freed\.  Its private memory was .*\n.*HINT:  SELECT \* FROM pg_leakhunt_report\('$pid\.1\.exit\.profile'\) ORDER BY peak_bytes DESC shows the call sites, /);
unlike(slurp_file($node->logfile), qr/Samples stand for 0 bytes/, 'no detail tells of nothing in figures');

$node->stop;
done_testing();
