# What tests of sampling malloc share: servers with the library preloaded, and what
# is sampled beside what malloc says.
package Malloc;

use strict;
use warnings;

use Exporter 'import';
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(preloaded define_malloc_users warm_up malloc_figures malloc_of is_malloc_true);

# The environment of a server that samples malloc, and has these variables.
sub preloaded
{
	my ($node, %variables) = @_;

	return (LD_PRELOAD => $node->config_data('--pkglibdir') . '/pg_leakhunt_malloc.so', %variables);
}

# Make the functions of the module that uses malloc.
sub define_malloc_users
{
	my ($node) = @_;

	define_fixture($node, 'malloc_users');
}

# Let a session be past its start, of which samples may not be taken, and have a profile,
# which it has not before it has kept some of its samples.
sub warm_up
{
	my ($node, $session, $pid) = @_;

	for (1 .. 20)
	{
		$session->query_safe('SELECT hold_malloc(300000, 30)');
		$session->query_safe('SELECT release_malloc(), held_bytes(), held_usable_bytes()');
		return if ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid") eq 'live';
	}
	die "process $pid has no profile";
}

# The bytes that malloc adds to a block: its size, and what rounds it up to 16.
my ($least_added, $most_added) = (8, 24);

# What malloc has given out in a process, by its own count, and what is sampled of it:
#	outside		bytes in use, less those in memory contexts
#	sampled		bytes of the sites of malloc
#	error		how far that may be from the truth: four standard errors, twice error_bytes
#	count		blocks of these sites
# The session counts at the end of a statement, unless it has just done so.
sub malloc_figures
{
	my ($node, $session, $pid) = @_;
	my $since = ask($node, 'SELECT clock_timestamp()');
	my $is_newer = "SELECT counted_at > '$since' AND malloc_bytes IS NOT NULL FROM pg_leakhunt_processes WHERE pid = $pid";
	my %figures;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$session->query_safe('SELECT 1');
		last if ask($node, $is_newer) eq 't';
		select(undef, undef, undef, 0.1);
	}
	@figures{qw(outside sampled error count)} = split /\|/, ask(
		$node, qq{
		SELECT malloc_bytes - context_bytes, sites.* FROM pg_leakhunt_processes,
			(SELECT coalesce(sum(live_bytes), 0), 2 * sqrt(coalesce(sum(error_bytes ^ 2), 0)), coalesce(sum(live_count), 0)
			FROM pg_leakhunt_report($pid) WHERE lifetime = 'process') AS sites
		WHERE pid = $pid});
	return \%figures;
}

# What was sampled between two figures is what malloc says that it gave out.  "slack" is
# for contexts that the server has deleted, and keeps for others.
sub is_malloc_true
{
	my ($before, $after, $slack, $name) = @_;
	my %gain = map { $_ => $after->{$_} - $before->{$_} } qw(outside sampled count);
	my $error = sqrt($before->{error}**2 + $after->{error}**2);
	my $most = $gain{sampled} + $most_added * $gain{count};

	# blocks that are not there, or too many, have their part in what is added
	$error *= $most / $gain{sampled} if $gain{sampled} > 0;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	note(sprintf '%s: %d bytes in %d blocks sampled (+/- %d), %d by malloc', $name, @gain{qw(sampled count)}, $error, $gain{outside});
	cmp_ok($gain{outside}, '>=', $gain{sampled} + $least_added * $gain{count} - $error - $slack,
		"$name: nothing is sampled that is not there");
	cmp_ok($gain{outside}, '<=', $most + $error + $slack,
		"$name: nothing is there that is not sampled");
}

# The bytes of the sites of malloc whose stack has a text, and their error.
sub malloc_of
{
	my ($node, $pid, $text) = @_;
	my %figures;

	@figures{qw(bytes error count)} = split /\|/, ask(
		$node, qq{
		SELECT coalesce(sum(live_bytes), 0), coalesce(sqrt(sum(error_bytes ^ 2)), 0), coalesce(sum(live_count), 0)
		FROM pg_leakhunt_report($pid)
		WHERE context_name = '[malloc]' AND lifetime = 'process' AND array_to_string(stack, ' ') ~ '$text'});
	return \%figures;
}

1;
