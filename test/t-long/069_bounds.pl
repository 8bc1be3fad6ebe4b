# No sentence has an estimate that is more than what was counted, or that may as well be
# nothing: at an interval at which one sample stands for more than there is.  Needs
# sessions whose samples differ by chance, and the log.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $SESSIONS = 16;
my $SIZE = qr/\d+ (?:bytes|kB|MB|GB)/;

my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 32MB
pg_leakhunt.dump_min_peak = 1MB
CONF

sub bytes_of
{
	my ($number, $unit) = shift =~ /(\d+) (\w+)/;

	return $number * { bytes => 1, kB => 1 << 10, MB => 1 << 20, GB => 1 << 30 }->{$unit};
}

# A session that holds 40 MB, after it had a sort; returns its pid, and leaves it idle.
sub hold
{
	my $session = shift;

	$session->query_safe($_)
		for "SET work_mem = '100MB'", 'SELECT count(DISTINCT i::text) FROM generate_series(1, 600000) i', 'RESET work_mem', 'SELECT leak_child(1000, 40000)', 'SELECT pg_sleep(1.1)', 'SELECT 1';
	return session_pid($session);
}

my @uncertain;
my @unsampled;
my @beyond;
for my $number (1 .. $SESSIONS)
{
	my $session = $node->background_psql('postgres');
	my $pid = hold($session);
	my $text = ask($node, "SELECT explanation FROM pg_leakhunt_explain($pid)");
	my $most = ask($node, "SELECT max(bytes) FROM pg_leakhunt_history($pid) WHERE name = 'context_bytes'");

	push @unsampled, $text if $text =~ /was allocated while it was not sampled/;
	while ($text =~ /($SIZE) \(\+\/- ($SIZE)\)/g)
	{
		push @uncertain, $text if bytes_of($1) > 0 && bytes_of($2) >= bytes_of($1);
		push @beyond, $text if bytes_of($1) > $most * 1.1;
	}
	$session->quit;
}
is_deeply(\@uncertain, [], 'no figure is told that may as well be nothing');
is_deeply(\@beyond, [], 'no figure is more than was ever counted');
is_deeply(\@unsampled, [], 'what no sample stands for by chance is not said to have been allocated unsampled');

my @lines = slurp_file($node->logfile) =~ /At its exit it had ($SIZE) in memory contexts.*Samples stand for ($SIZE)[ .]/g;
cmp_ok(scalar @lines, '>=', 2, 'the log tells of sessions that have ended');
my @held;
while (my ($counted, $held) = splice @lines, 0, 2)
{
	push @held, "$held of $counted" if bytes_of($held) > bytes_of($counted);
}
is_deeply(\@held, [], 'the log tells of no more than was counted');

# What the settings allow is known as soon as they have changed, within a transaction, too:
# the last count is of before.
my $directory = profile_directory($node);
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe($_) for 'SET pg_leakhunt.sample_interval = 1', 'SELECT leak_top(1000, 20000)', 'BEGIN';
my @wanted = map { $_ * 1024 * 1024 * 2 } 20 .. 24;
my @known;
for my $megabytes (20 .. 24)
{
	$session->query_safe($_) for "SET LOCAL work_mem = '${megabytes}MB'", 'SET LOCAL hash_mem_multiplier = 2', 'SELECT leak_top(1000, 2000)';
	push @known, header_of(slurp_file("$directory/$pid"))->{node_memory_bytes};
}
is_deeply(\@known, \@wanted, 'a profile has the limits of settings that were changed a moment ago');
$session->quit;

done_testing();
