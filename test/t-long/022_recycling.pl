# Sessions that run very many different statements: needs more of them than a
# profile has room for, and another session that looks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
pg_leakhunt.dump_on_exit = off
CONF

# Statements that are all different; each keeps a plan until the next one.
sub different_statements
{
	my ($first, $last) = @_;

	return join '', map {
		"PREPARE kept_$_ AS SELECT $_ + relpages FROM pg_class WHERE oid = $_;\n"
		  . "EXECUTE kept_$_;\nDEALLOCATE kept_$_;\n"
	} $first .. $last;
}

# Do the sites of a process add up to its figures?
sub adds_up
{
	my ($pid) = @_;

	return ask(
		$node, qq{
		SELECT sum(r.live_bytes) = min(p.live_bytes) AND sum(r.live_count) = min(n.live_count) AND
			sum(r.samples) = min(n.samples_live) AND count(*) <= min(n.sites) + 1
		FROM pg_leakhunt_report r JOIN pg_leakhunt_processes p USING (pid) JOIN pg_leakhunt_sampling n USING (pid) WHERE pid = $pid});
}

# The same statements at this interval, then the leak of 100 transactions.
sub hunt_after
{
	my ($interval, $statements) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);
	my $file = PostgreSQL::Test::Utils::tempdir() . '/statements.sql';

	$session->query_safe("SET pg_leakhunt.sample_interval = $interval");
	append_to_file($file, different_statements(1, $statements));
	$session->query_safe("\\o /dev/null\n\\i $file\n\\o\nSELECT 1");
	unlink $file;

	my $process = process_row($node, $pid);
	is($process->{samples_dropped}, 0,
		"$statements statements at interval $interval find room");
	cmp_ok($process->{profile_bytes}, '<=', 2 * 1024 * 1024,
		"the profile of $statements statements at interval $interval stays far below its maximum");
	is(adds_up($pid), 't', "the sites of $statements statements at interval $interval add up");
	cmp_ok(
		ask($node,
			"SELECT coalesce(sum(total_bytes), 0) FROM pg_leakhunt_report WHERE pid = $pid AND query IS NULL AND live_bytes = 0"
		),
		'>', 0,
		"what was given up of $statements statements at interval $interval is counted without statements");
	return ($session, $pid);
}

# 24,000 different messages, after which a leak begins.
my ($session, $pid) = hunt_after(1024, 8000);
$session->query_safe('SELECT leak_top(1000, 100)') for 1 .. 40;
my $row = report_row($node, $pid, 'leaking_top');
is_estimate($row->{live_bytes}, $row->{error_bytes}, 40 * 100 * 1000,
	'a leak that begins after many statements has its bytes');
like($row->{query}, qr/^SELECT leak_top\(1000, 100\)/, 'a leak that begins after many statements has its statement');
is( ask($node,
		"SELECT verdict FROM pg_leakhunt_suspects WHERE pid = $pid AND function_of(site) = 'leaking_top'"
	),
	'leak',
	'a leak that begins after many statements is a suspect');
is(adds_up($pid), 't', 'the sites add up to the process after many statements and a leak');

# A baseline: what is held by statements that are gone later counts as freed.
ask($node, "SELECT pg_leakhunt_baseline($pid)");
$session->query_safe(different_statements(20000, 22000));
is( ask($node,
		"SELECT sum(r.growth_bytes) = min(p.growth_bytes) FROM pg_leakhunt_report r JOIN pg_leakhunt_processes p USING (pid) WHERE pid = $pid"
	),
	't',
	'growth since a baseline adds up, too, whatever was given up since');
is( ask($node,
		"SELECT count(*) FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top' AND growth_bytes <> 0"
	),
	0,
	'what did not grow since the baseline has no growth');
$session->quit;

# A check in such a session is not confused by it.
$session = $node->background_psql('postgres');
$session->query_safe('SET pg_leakhunt.sample_interval = 1024');
$session->query_safe(different_statements(1, 1500));
is( $session->query_safe(
		"SELECT bytes_per_iteration || ' ' || function_of(site) FROM pg_leakhunt_check('SELECT leak_top(100, 10)', 20, 5)"
	),
	'1000 leaking_top',
	'a check after many statements finds the leak, and nothing else');
$session->quit;

# Fewer samples of each statement.
($session, $pid) = hunt_after(8192, 2000);
$session->quit;

$node->stop;
done_testing();
