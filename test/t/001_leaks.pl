# Leaks into every type of context, by every way, seen from another session
# while the leaking one runs: needs sessions side by side.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');

# Run a leak in a session of its own at an interval, and return its row.  The
# session stays open, idle in the middle of its life, while it is looked at.
sub leak
{
	my ($interval, $call, $function) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe("SET pg_leakhunt.sample_interval = '$interval'");
	$session->query_safe("SELECT $call");
	my $row = report_row($node, $pid, $function);
	$session->quit;
	return $row;
}

# The leak that everything is about, at the default interval, many times: the
# bound is one of 95%, so that no fewer than 15 of 20 may miss it.
my $within = 0;
for my $round (1 .. 20)
{
	my $row = leak('512kB', 'leak_top(64, 1000000)', 'leaking_top');

	like($row->{site}, qr/^leaking_top( \(leaker\.c:\d+\))?$/, 'the site of a leak is named') if $round == 1;
	is($row->{context_name}, 'TopMemoryContext', 'the context of a leak is named')
	  if $round == 1;
	like($row->{query}, qr/^SELECT leak_top/, 'the statement of a leak is named')
	  if $round == 1;
	is($row->{outermost}, '_start', 'the stack of a leak reaches _start') if $round == 1;
	is($row->{live_bytes}, 64 * $row->{live_count}, 'bytes and objects of a leak agree')
	  if $round == 1;
	$within++
	  if abs($row->{live_bytes} - 64_000_000) <= $row->{error_bytes};
	is_estimate($row->{live_bytes}, $row->{error_bytes}, 64_000_000,
		"estimate of round $round");
}
note "$within of 20 estimates within error_bytes";
cmp_ok($within, '>=', 15, 'error_bytes is a bound of 95%');

my $row = leak(1, 'leak_top(64, 1000000)', 'leaking_top');
is($row->{live_count}, 1_000_000, 'objects are exact at interval 1');
is($row->{live_bytes}, 64_000_000, 'bytes are exact at interval 1');
is($row->{error_bytes}, 0, 'the error bound is 0 at interval 1');
is($row->{samples}, 1_000_000, 'each object is a sample at interval 1');

# Each type of context and each way to leak; exact, and by estimate.
my @leaks = (
	[ 'leak_cache(100, 50000)', 'leak_cache', 5_000_000, 'CacheMemoryContext' ],
	[ 'leak_child(100, 50000)', 'leak_child', 5_000_000, 'leaker child' ],
	[
		'leak_generation(100, 50000)', 'leak_generation',
		5_000_000, 'leaker generation'
	],
	[ 'leak_slab(50000)', 'leak_slab', 3_200_000, 'leaker slab' ],
	[
		'leak_contexts(1000, 5000)', 'leak_contexts',
		5_000_000, 'leaker leaked context'
	],
	[
		'leak_by_repalloc(100, 50000)', 'growing_by_repalloc',
		5_000_000, 'TopMemoryContext'
	],
	[
		'leak_at_depth(10, 100, 50000)', 'leaking_at_depth',
		5_000_000, 'TopMemoryContext'
	],
	[
		'leak_at_depth(200, 100, 50000)', 'leaking_at_depth',
		5_000_000, 'TopMemoryContext'
	]);
for my $leak (@leaks)
{
	my ($call, $function, $truth, $context) = @$leak;

	$row = leak(1, $call, $function);
	is($row->{live_bytes}, $truth, "$call: exact");
	is($row->{context_name}, $context, "$call: context");
	is($row->{lifetime}, 'session', "$call: lifetime");
	is($row->{outermost}, '[more frames]', "$call: cut stack says so")
	  if $call =~ /200/;

	# one chunk that has grown beyond the interval is a single certain sample
	$row = leak('16kB', $call, $function);
	is_estimate($row->{live_bytes}, $row->{error_bytes} || 1,
		$truth, "$call: estimate");
}

# What is freed, or goes with its context, leaves nothing.
for my $interval ('1', '64B', '4kB')
{
	for my $call ('allocate_in_balance(100, 100000)',
		'allocate_and_reset(100, 50000)')
	{
		my ($function) = $call =~ /balance/ ? 'balanced' : 'leaking_in';

		$row = leak($interval, $call, $function);
		is($row->{live_bytes}, 0, "$call at $interval: no live bytes");
		is($row->{live_count}, 0, "$call at $interval: no live objects");
		is($row->{samples}, 0, "$call at $interval: no live samples");
		is($row->{error_bytes}, 0, "$call at $interval: no error bound");
		cmp_ok($row->{total_count}, '>', 50_000,
			"$call at $interval: but there were some");
	}
}

# A cache that fills once stays as it was filled.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT fill_cache_once(50, 1000)') for 1 .. 3;
is(report_row($node, $pid, 'filling_cache')->{live_bytes},
	50_000, 'a cache that is filled once keeps its size');

# Objects without a byte: counted at interval 1, and no trouble to anybody.
$session->query_safe('SELECT leak_top(0, 1000)');
$row = report_row($node, $pid, 'leaking_top');
is("$row->{live_count} $row->{live_bytes}", '1000 0', 'empty chunks are counted, with no bytes');
$session->quit;

# A report from the middle of a running statement; not at interval 1, at which a
# million live samples are full within a second.
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 8192');
$session->query_until(qr//, "SELECT leak_top(16, 1000000000000);\n");
$node->poll_query_until('postgres',
	"SELECT live_count > 100000 FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'"
) or die 'no growth is seen';
my $older = report_row($node, $pid, 'leaking_top')->{live_count};
wait_until(
	sub { report_row($node, $pid, 'leaking_top')->{live_count} > $older },
	'growth is seen while the statement runs');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$session->{run}->finish;

$node->stop;
done_testing();
