# What other profilers of malloc say of the same run: heaptrack and jemalloc's, which stand
# behind pg_leakhunt_malloc.so and see each of its calls.  Needs a server in single-user
# mode, as heaptrack follows no forked process.  Nor may that fork one itself, to read
# symbols: heaptrack may have its lock at that moment, and then waits for ever.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($heaptrack) = glob('/usr/lib/heaptrack/libheaptrack_preload.so /usr/lib/*/heaptrack/libheaptrack_preload.so');
my ($jemalloc) = glob('/usr/lib/*/libjemalloc.so.2');
my $documents = "$FindBin::RealBin/../libraries/documents.so";
my $directory = PostgreSQL::Test::Utils::tempdir();

# What differs is what a library had before sampling began, and what a sample misses.
my $most_difference = 0.02;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.max_profile_size = 64MB\n");
$node->start;
define_leakers($node);
define_malloc_users($node);

# "keep" is SQL; "files" are those that its stacks come by, and "frames" names in them.
my @workloads = ({
		keep => 'SELECT hold_malloc(100, 50000), hold_malloc(3000, 1000), hold_malloc(300000, 20)',
		files => qr/malloc_users\.so/,
		frames => 'holding_malloc',
	});
if (-e $documents)
{
	$node->safe_psql('postgres',
		"CREATE FUNCTION keep_documents(content text, times int) RETURNS void AS '$documents' LANGUAGE C STRICT");
	push @workloads, {
		keep => q{SELECT keep_documents('<a>' || repeat('<b c="1">text</b>', 100) || '</a>', 300)},
		files => qr/documents\.so/,
		frames => 'keeping_document',
	};
}
if (-e $node->config_data('--pkglibdir') . '/plperl.so')
{
	$node->safe_psql(
		'postgres', q{CREATE EXTENSION plperl;
		CREATE FUNCTION perl_keep(times int) RETURNS int LANGUAGE plperl AS
			$$ $_SHARED{$_} = 'x' x 3000 for 1 .. $_[0]; return $_[0] $$});
	push @workloads, {
		keep => 'SELECT perl_keep(5000)',
		files => qr/plperl\.so/,
		frames => 'plperl|Perl_',
	};
}
$node->stop;

# Run statements in single-user mode with these libraries behind ours; returns the values
# that they have in a column "value".
sub run_single
{
	my ($library, $variables, @statements) = @_;
	my $input = join('', map { tr/\n\t/  /r . "\n" } @statements);
	my $output = '';

	local %ENV = (%ENV, preloaded($node), %{$variables});
	$ENV{LD_PRELOAD} .= ":$library";
	IPC::Run::run([ $node->config_data('--bindir') . '/postgres', '--single', '-D', $node->data_dir, 'postgres' ],
		'<', \$input, '>', \$output, '2>', '/dev/null')
	  or fail('single-user mode') || diag($output);
	return $output =~ /value = "([^"]*)"/g;
}

# The statements of a run at that interval, of which the last one writes a dump.
sub statements_at
{
	my ($interval) = @_;

	return ("SET pg_leakhunt.sample_interval = '$interval'",
		(map { $_->{keep} } @workloads),
		'SELECT pg_leakhunt_dump(pg_backend_pid()) AS value');
}

# Bytes and their error of each workload, as a dump has them.
sub dumped_bytes
{
	my ($dump) = @_;
	my @values;

	$node->start;
	@values = map {
		ask($node, qq{
			SELECT coalesce(sum(live_bytes), 0) || ' ' || coalesce(sqrt(sum(error_bytes ^ 2)), 0)
			FROM pg_leakhunt_read_dump('$dump')
			WHERE lifetime = 'process' AND array_to_string(stack, ' ') ~ '$_->{frames}'})
	} @workloads;
	$node->stop;
	return @values;
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
	my ($name, $rounded, $other, $dump) = @_;
	my @values = dumped_bytes($dump);

	for my $i (0 .. $#workloads)
	{
		my ($bytes, $error) = split ' ', $values[$i] // '';
		my $allowed = 3 * $error + $most_difference * $other->[$i];

		note(sprintf '%s, %s: %d bytes (+/- %d), by the other %d', $name, $workloads[$i]{frames}, $bytes, $error, $other->[$i]);
		cmp_ok($other->[$i], '>', 1_000_000, "$name, $workloads[$i]{frames}: the other has seen it");
		cmp_ok($bytes, '<=', $other->[$i] + $allowed, "$name, $workloads[$i]{frames}: no more is sampled");
		cmp_ok($bytes, '>=', $other->[$i] / (1 + $rounded) - $allowed, "$name, $workloads[$i]{frames}: nor less");
	}
}

for my $interval ('1', '4kB')
{
  SKIP:
	{
		skip 'no heaptrack', 1 if !$heaptrack;
		my $file = "$directory/heaptrack.$interval";
		my ($dump) = run_single($heaptrack, { DUMP_HEAPTRACK_OUTPUT => $file }, statements_at($interval));

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
