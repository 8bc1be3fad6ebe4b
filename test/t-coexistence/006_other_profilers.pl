# What other profilers of malloc say of the same run: heaptrack and jemalloc's, which stand
# behind pg_leakhunt_malloc.so and see each of its calls.  Needs a server in single-user
# mode, as heaptrack follows no forked process.  Nor may that fork one itself, to read
# symbols: heaptrack may have its lock at that moment, and then waits for ever.
use strict;
use warnings;
no warnings 'portable';		# addresses

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Dumps;
use LeakHunt;
use Malloc;
use MallocLibraries;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($heaptrack) = glob('/usr/lib/heaptrack/libheaptrack_preload.so /usr/lib/*/heaptrack/libheaptrack_preload.so');
my ($jemalloc) = glob('/usr/lib/*/libjemalloc.so.2');
my $directory = PostgreSQL::Test::Utils::tempdir();

# What differs is what a library had before sampling began, and what a sample misses.
my $most_difference = 0.02;

# jemalloc defines the operators of C++ itself, which pass by malloc and so by us.  With
# those of libstdc++ in front of it, all three see the same calls.
my $operators = 'libstdc++.so.6';

# What other threads keep is not sampled: it is one figure for the process, which may lack
# so much of each.  The others have it at its call site.
my $by_threads = 2 * 2500 * 1000;
my $lacked = 2 * 65536;
my $leak_in_threads = 'SELECT leak_in_threads(2, 2500)';

# heaptrack's file goes on to the end of the process, when some libraries free what they
# had.  A block of this size says that it is time to stop.
my $last_bytes = 12_345_678;

# A server for dblink, which cannot connect to one in single-user mode.
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->start;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.max_profile_size = 64MB
jit = off
});
$node->start;
define_leakers($node);
define_malloc_users($node);

my @workloads = grep { !$_->{balanced} } libraries_with_malloc($node, $far);
$node->stop;

# Run statements in single-user mode with these libraries behind ours; returns the values
# that they have in a column "value".
sub run_single
{
	my ($library, $variables, @statements) = @_;
	my $input = join('', map { tr/\n\t/  /r . "\n" } @statements);
	my $output = '';

	local %ENV = (%ENV, preloaded($node), %{$variables});
	$ENV{LD_PRELOAD} .= ":$operators:$library";
	IPC::Run::run([ $node->config_data('--bindir') . '/postgres', '--single', '-D', $node->data_dir, 'postgres' ],
		'<', \$input, '>', \$output, '2>', '/dev/null')
	  or fail('single-user mode ends well') || diag($output);
	return $output =~ /value = "([^"]*)"/g;
}

# The statements of a run at that interval, of which the last one writes a dump.
sub statements_at
{
	my ($interval) = @_;

	return ("SET pg_leakhunt.sample_interval = '$interval'",
		$leak_in_threads,
		(map { ($_->{begin} // (), sql_of_library($_, $_->{times})) } @workloads),
		'SELECT pg_leakhunt_dump(pg_backend_pid()) AS value');
}

# Bytes and their error of each workload, as a dump has them; without what heaptrack has
# from malloc for itself, which we see, as it stands behind us.
sub dumped_bytes
{
	my ($dump) = @_;
	my @figures = map {
		my $of = "FILTER (WHERE array_to_string(stack, ' ') ~ '" . ($_->{within} // $_->{frames}) . "')";

		"coalesce(sum(live_bytes) $of, 0) || ' ' || coalesce(sqrt(sum(error_bytes ^ 2) $of), 0)"
	} @workloads;
	my $values;

	$node->start;
	$values = ask($node, 'SELECT ' . join(', ', @figures) . " FROM pg_leakhunt_report('$dump') WHERE lifetime = 'process' AND array_to_string(stack, ' ') !~ 'heaptrack'");
	$node->stop;
	return split /\|/, $values;
}

# The files of a process by addresses, as pairs of the first address and of that after the
# last one, by workload.
sub ranges_of
{
	my ($maps) = @_;
	my @ranges;

	while ($maps =~ /^([0-9a-f]+)-([0-9a-f]+) r-xp .* (\S+)$/mg)
	{
		my ($start, $end, $name) = (hex $1, hex $2, $3);

		for my $i (grep { $name =~ $workloads[$_]{files} } 0 .. $#workloads)
		{
			push @{ $ranges[$i] }, $start, $end;
		}
	}
	return @ranges;
}

# The number of the workload that an address is of; undef if it is of none.
sub workload_of
{
	my ($address, @ranges) = @_;

	for my $i (0 .. $#ranges)
	{
		my @range = @{ $ranges[$i] // [] };

		while (my ($start, $end) = splice @range, 0, 2)
		{
			return $i if $address >= $start && $address < $end;
		}
	}
	return;
}

# What is live by jemalloc's dump, by workload.
sub jemalloc_bytes
{
	my ($dump) = @_;
	my @ranges = ranges_of($dump);
	my @bytes = (0) x @workloads;

	while ($dump =~ /^@ (.*)\n  t\*: \d+: (\d+) /mg)
	{
		my ($stack, $live) = ($1, $2);
		my ($workload) = grep { defined } map { workload_of(hex, @ranges) } split ' ', $stack;

		$bytes[$workload] += $live if defined $workload;
	}
	return @bytes;
}

# What is live by heaptrack's raw file, by workload: "m" lists files and their segments,
# "t" makes a trace of an address and the trace that called it, "+" is a block of a size,
# a trace and an address.
sub heaptrack_bytes
{
	my ($file) = @_;
	my (@ranges, %blocks);
	my @bytes = (0) x @workloads;
	my @traces = (undef);

	open my $in, '<', $file or die "$file: $!";
	while (<$in>)
	{
		my ($kind, @words) = split;

		if ($kind eq 'm')
		{
			# a file's name has its length in front of it
			shift @words if @words > 1 && $words[1] =~ m{/};
			my ($name, $base, @segments) = @words;

			next if $name eq '-';
			for my $i (grep { $name =~ $workloads[$_]{files} } 0 .. $#workloads)
			{
				my @left = @segments;

				while (my ($start, $length) = splice @left, 0, 2)
				{
					push @{ $ranges[$i] }, hex($base) + hex($start), hex($base) + hex($start) + hex($length);
				}
			}
		}
		elsif ($kind eq 't')
		{
			push @traces, [ hex $words[0], hex $words[1] ];
		}
		elsif ($kind eq '+')
		{
			last if hex $words[0] == $last_bytes;
			$blocks{ $words[2] } = [ hex $words[0], hex $words[1] ];
		}
		elsif ($kind eq '-')
		{
			delete $blocks{ $words[0] };
		}
	}
	my @workload_of_trace;
	for my $i (1 .. $#traces)
	{
		my ($address, $parent) = @{ $traces[$i] };

		$workload_of_trace[$i] = workload_of($address, @ranges) // $workload_of_trace[$parent];
	}
	for my $block (values %blocks)
	{
		my $workload = $workload_of_trace[ $block->[1] ];

		$bytes[$workload] += $block->[0] if defined $workload;
	}
	return @bytes;
}

# Hold our estimates against another profiler's bytes, which may be rounded up by so much.
sub compare
{
	my ($profiler, $rounded, $other, $dump) = @_;
	my @values = dumped_bytes($dump);

	for my $i (0 .. $#workloads)
	{
		my $name = "$profiler, $workloads[$i]{name}";
		my ($bytes, $error) = split ' ', $values[$i] // '';
		my $theirs = $other->[$i] - ($workloads[$i]{name} eq 'threads' ? $by_threads : 0);
		my $allowed = 2 * $error + $most_difference * $theirs;

		note(sprintf '%s: %d bytes (+/- %d), by the other %d', $name, $bytes, $error, $theirs);
		cmp_ok($theirs, '>', 1_000_000, "$name: the other profiler has seen the bytes");
		cmp_ok($bytes, '<=', $theirs + $allowed, "$name: no more is sampled than the other profiler has seen");
		cmp_ok($bytes, '>=', $theirs / (1 + $rounded) - $allowed, "$name: no less is sampled than the other profiler has seen");
	}
	my $untracked = header_of(slurp_file($node->data_dir . '/pg_leakhunt/' . $dump =~ s{.*/}{}r))->{malloc_other_bytes};
	cmp_ok($untracked, '>=', $by_threads - $lacked, "$profiler: what other threads allocate is known as a sum");
}

for my $interval ('1', '4kB')
{
  SKIP:
	{
		skip 'no heaptrack', 1 if !$heaptrack;
		my $file = "$directory/heaptrack.$interval";
		my ($dump) = run_single($heaptrack, { DUMP_HEAPTRACK_OUTPUT => $file },
			statements_at($interval), "SELECT hold_malloc($last_bytes, 1)");

		compare("heaptrack, interval $interval", 0, [ heaptrack_bytes($file) ], $dump);
	}
  SKIP:
	{
		skip 'no jemalloc', 1 if !$jemalloc;
		my $file = "$directory/jemalloc.$interval";
		my ($dump, $has_profile) = run_single($jemalloc, { MALLOC_CONF => 'prof:true,lg_prof_sample:0' },
			statements_at($interval), "SELECT dump_jemalloc('$file') AS value");

		is($has_profile, 't', 'jemalloc has a profile');
		# its classes of sizes are a quarter of a power of two apart
		compare("jemalloc, interval $interval", 0.25, [ jemalloc_bytes(slurp_file($file)) ], $dump);
	}
}
done_testing();
