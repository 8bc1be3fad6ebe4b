# The keeper has a process proven when a finding is new: a leak is one from its first
# 128 kB on, and what a list holds is told with its holder.  Needs sessions side by side.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "$quick_keeper\npg_leakhunt.sample_interval = '4kB'\npg_leakhunt.proof_max_memory = '1GB'\n");

# Let a session call something again and again until a query about it is true.
sub call_until
{
	my ($call, $query) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	wait_until(
		sub {
			$session->query_safe("SELECT $call");
			return $node->safe_psql('postgres', $query =~ s/PID/$pid/r) eq 't';
		},
		"$call is told");
	return ($session, $pid);
}

sub suspect
{
	my ($pid, $columns) = @_;

	return $node->safe_psql('postgres', "SELECT $columns FROM pg_leakhunt_suspects WHERE pid = $pid ORDER BY bytes DESC LIMIT 1");
}

# What is lost is a leak, with the first proof of it.
my ($session, $pid) = call_until('leak_top(400, 100)',
	"SELECT coalesce(bool_or(lost_bytes > 0), false) FROM pg_leakhunt_suspects WHERE pid = PID");
is(suspect($pid, 'verdict'), 'leak', 'what nothing points to is a leak');
is(suspect($pid, 'lost_bytes >= 131072 AND lost_bytes <= bytes + 1'), 't', 'as far as it was proven');
like(suspect($pid, q{translate(evidence, E'\n', ' ')}), qr/othing (?:in the process )?point(?:s|ed) to/, 'and the evidence says so');
like($node->safe_psql('postgres', "SELECT pg_leakhunt_explain($pid)"), qr/othing (?:in the process )?point(?:s|ed) to/,
	'so does the explanation');
wait_until(sub { slurp_file($node->logfile) =~ /process $pid (?:leaks|has lost) memory/ }, 'it is in the log');
$session->quit;

# A list that grows can be reached: it is no leak before its course says so, and then its
# holder is named.
($session, $pid) = call_until('hold_in_list(400, 100)',
	"SELECT coalesce(bool_or(held_by IS NOT NULL), false) FROM pg_leakhunt_suspects WHERE pid = PID");
is(suspect($pid, 'held_by'), 'the variable held_list of leaker.so', 'the holder of a list is named');
isnt(suspect($pid, 'verdict'), 'leak', 'what can be reached is no leak yet');
is(suspect($pid, 'lost_bytes'), '0', 'and nothing of it is lost');
$session->quit;

# With 0, nothing is proven unasked.
set_and_reload($node, 'pg_leakhunt.proof_max_memory' => '0');
($session, $pid) = call_until('leak_top(400, 100)',
	"SELECT coalesce(bool_or(verdict = 'leak'), false) FROM pg_leakhunt_suspects WHERE pid = PID");
is(suspect($pid, 'lost_bytes IS NULL'), 't', 'proof_max_memory of 0 proves nothing unasked');
$session->quit;

done_testing();
