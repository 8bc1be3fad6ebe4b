# The USDT probes otel_memory:alloc and otel_memory:free, as profilers and tracers see them: the
# notes in the module's file, and what a debugger hears at them.  It counts itself as a listener, as
# the kernel does for other programs (test/listeners).  What it hears is what the report says, to the
# byte.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.sample_interval = '4kB'\n");
{
	local %ENV = (%ENV, preloaded($node));
	$node->start;
}
define_leakers($node);
define_malloc_users($node);

my $module = $node->config_data('--pkglibdir') . '/pg_leakhunt.so';

# The probes that the notes of a file describe: for each name the arguments, where the instruction
# is, and where its listeners are counted.
sub probes_of
{
	my ($file) = @_;
	my $notes = run_tool('readelf', '-n', $file);
	my %probes;

	while ($notes =~ m{Provider:\ otel_memory\s+Name:\ (\w+)\s+Location:\ (0x\w+),\ Base:\ (0x\w+),
		\ Semaphore:\ (0x\w+)\s+Arguments:\ (.*)}gx)
	{
		push @{ $probes{$1} }, { location => $2, base => $3, listeners => $4, arguments => $5 };
	}
	return \%probes;
}

# The section of a file with an address: its name and flags.
sub section_at
{
	my ($file, $address) = @_;

	for (split /\n/, run_tool('readelf', '-SW', $file))
	{
		my ($name, $start, $bytes, $flags) =
		  /\] (\S+)\s+\S+\s+([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+) \d+\s+([A-Z]*)/
		  or next;

		return "$name $flags"
		  if hex($address) >= hex($start) && hex($address) < hex($start) + hex($bytes);
	}
	return 'none';
}

# What is in the file
my $probes = probes_of($module);
my $arguments =
  run_tool('uname', '-m') =~ /x86_64/ ? '8@%rdi 8@%rsi 8@%rdx' : '8@x0 8@x1 8@x2';
is_deeply(
	[ map { map { $_->{arguments} } @{ $probes->{$_} } } qw(alloc free) ],
	[ $arguments, $arguments =~ s/ .*//r ],
	'each probe has one note, and its arguments are where a function gets them');
for my $probe (map { $_->[0] } @$probes{qw(alloc free)})
{
	is(section_at($module, $probe->{location}), '.text AX', 'a note leads to code');
	is(section_at($module, $probe->{listeners}), '.probes WA', 'and to a count in the file that can change');
	is(section_at($module, $probe->{base}), '.stapsdt.base A', 'and says by what addresses have moved');
}

my $stripped = PostgreSQL::Test::Utils::tempdir() . '/stripped.so';
run_tool('strip', '--strip-unneeded', '--remove-section=.comment', '--remove-section=.note', '-o', $stripped, $module);
is_deeply(probes_of($stripped), $probes, 'a package that strips the file leaves the notes as they are');

# A session that allocates and frees while a debugger notes what is told; both end where
# forget_all is called.  Returns the session, and what was noted: a free has no size.
sub told_by_session
{
	my ($work) = @_;
	my $session = $node->background_psql('postgres', on_error_die => 1);
	my $pid = session_pid($session);
	my $script = PostgreSQL::Test::Utils::tempdir() . '/commands';
	my $output = '';

	# what it has from before, sampled for sure, and the libraries that it calls later
	$session->query_safe('SELECT hold_chunk(2345678), release_malloc()');
	append_to_file($script, <<'END');
set pagination off
break -probe-stap otel_memory:alloc
commands
silent
printf "alloc %lu %lu %lu\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "free %lu\n", $_probe_arg0
continue
end
tbreak forget_all
printf "%s\n", "listening"
continue
printf "listeners: %d %d\n", plh_otel_memory_alloc_listeners, plh_otel_memory_free_listeners
detach
END
	my $debugger = IPC::Run::start([ 'gdb', '-nx', '-batch', '-p', $pid, '-x', $script ],
		'<', '/dev/null', '>&', \$output);
	wait_until(sub { $debugger->pump_nb; $output =~ /^listening$/m }, 'a debugger listens')
	  or diag($output);
	$session->query_safe("$work; SELECT forget_all()");
	$debugger->finish;
	like($output, qr/^listeners: 0 0$/m, 'it counts as a listener no longer than its breakpoints are there');
	return ($session, [ map { [split] } $output =~ /^(?:alloc|free) .*$/mg ]);
}

# What was told of allocations of one size: "live|total" bytes, as the report has them.
sub told_bytes
{
	my ($told, $size) = @_;
	my ($total, %live) = (0);

	for (@$told)
	{
		my ($event, $pointer, $bytes, $weight) = @$_;

		delete $live{$pointer} if $event eq 'free';
		next if $event eq 'free' || $bytes != $size;
		$live{$pointer} = $weight;
		$total += $weight;
	}
	my $live = 0;
	$live += $_ for values %live;
	return "$live|$total";
}

SKIP:
{
	skip 'gdb is missing, or may not trace here', 10 unless can_trace($node);

	my ($session, $told) = told_by_session(
		'SELECT leak_top(1234, 500), allocate_and_reset(777, 200), hold_malloc(5555, 100);
		SELECT release_malloc(), hold_malloc(4444, 100), release_chunk()');
	my $pid = session_pid($session);

	for ([ 'leaking_top', 1234, 'chunks' ], [ 'leaking_in', 777, 'chunks of contexts that are reset and deleted' ],
		[ 'holding_malloc', '5555|4444', 'blocks of malloc, held and freed' ])
	{
		my ($function, $sizes, $what) = @$_;
		my @told = map { [ split /\|/, told_bytes($told, $_) ] } split /\|/, $sizes;
		my ($live, $total) = (0, 0);

		$live += $_->[0], $total += $_->[1] for @told;
		is( "$live|$total",
			ask($node, "SELECT sum(live_bytes), sum(total_bytes) FROM pg_leakhunt_report($pid) WHERE function_of(site) = '$function'"),
			"$what: what is told is what the report says");
		cmp_ok($total, '>', 100_000, '... and much was told');
	}

	my (%live, @twice, @unknown);
	for (@$told)
	{
		my ($event, $pointer) = @$_;

		push @twice, $pointer if $event eq 'alloc' && $live{$pointer}++;
		push @unknown, $pointer if $event eq 'free' && !delete $live{$pointer};
	}
	is("@twice", '', 'nothing is told twice');
	cmp_ok(scalar @unknown, '>', 0, 'of what was sampled before the end is told');
	$session->query_safe('SELECT leak_top(1234, 500), release_malloc()');
	$session->quit;
}

$node->stop;
done_testing();
