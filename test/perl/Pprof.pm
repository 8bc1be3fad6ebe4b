# Profiles for pprof as those see them who store such profiles: what go tool pprof reads
# in them, and the rules by which Pyroscope and Parca take a profile or refuse it.  What
# the format itself demands, as that ids and texts are there, go tool pprof checks.
package Pprof;

use strict;
use warnings;
no warnings 'portable';    # addresses are of 64 bits

use Encode;
use Exporter 'import';
use File::Basename;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Time::Local;

our @EXPORT = qw(raw_pprof read_pprof pprof_faults pprof_sum pprof_label pprof_stack pprof_values);

# What stores take at most, by their defaults.
my %limits = (
	bytes => 4 * 1024 * 1024,
	samples => 16_000,
	types => 4,
	depth => 1_000,
	labels => 100,
	label_bytes => 2_048,
	symbol_bytes => 65_535,
	age => 3_600,
	ahead => 600);

# A profile in which pprof is told to leave out nothing: the pattern of functions that it
# names for that, a text of many alternatives behind its tag and length, matches none.
sub with_all_functions
{
	my ($bytes) = @_;

	if ($bytes =~ /\x32([\x80-\xff]*[\x00-\x7f])(?=\w+(?:\|\w+){9})/)
	{
		my @digits = unpack 'C*', $1;
		my $length = 0;

		$length |= ($digits[$_] & 0x7f) << 7 * $_ for 0 .. $#digits;
		substr($bytes, $+[0], $length) = 'x' x $length;
	}
	return $bytes;
}

# All that go tool pprof reads in a profile, as text.
sub raw_pprof
{
	my ($bytes) = @_;
	my $path = PostgreSQL::Test::Utils::tempdir() . '/profile.pb';

	append_to_file($path, with_all_functions($bytes));
	local $ENV{TZ} = 'UTC';
	return run_tool('go', 'tool', 'pprof', '-raw', '-symbolize=none', $path);
}

# The labels in a line, in any case as texts: some may have blanks in them.
sub labels_of
{
	my ($line) = @_;

	return [ map { /^(\w+):\[(.*)\]$/s ? { key => $1, text => $2 } : () } split /(?<=\]) (?=\w+:\[)/, $line ];
}

# Samples, each with its values, the ids of its locations, and labels; a second line of
# these has those that are numbers.
sub samples_of
{
	my (@lines) = @_;
	my @samples;

	for (@lines)
	{
		if (/^\s+-?\d+[\s\d-]*: /)
		{
			my ($values, $ids) = split /: /;

			push @samples, { values => [ split ' ', $values ], ids => [ split ' ', $ids // '' ], lines => [] };
		}
		elsif (s/^ {16}(?=\w+:\[)//)
		{
			push @{ $samples[-1]{lines} }, $_;
		}
		else
		{
			$samples[-1]{lines}[-1] .= "\n$_";
		}
	}
	for my $sample (@samples)
	{
		my ($texts, @others) = @{ delete $sample->{lines} };

		$sample->{labels} = labels_of($texts // '');
		$sample->{other_labels} = [ map { @{ labels_of($_) } } @others ];
	}
	return \@samples;
}

# Locations by their ids, each with its functions, files and lines, the innermost first.
sub locations_of
{
	my (@lines) = @_;
	my (%locations, $location);

	for (@lines)
	{
		if (s/^\s*(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?//)
		{
			$location = $locations{$1} =
			  { id => $1, address => hex $2, mapping => $3, functions => [] };
		}
		push @{ $location->{functions} }, { name => $1, file => $2, line => $3 }
		  if /^\s*(.*) (\S*?):(\d+)(?::\d+)? s=\d+/;
	}
	return \%locations;
}

sub mappings_of
{
	my @mappings;

	for (@_)
	{
		/^(\d+): 0x([0-9a-f]+)\/0x([0-9a-f]+)\/0x[0-9a-f]+ (.*) (\S*) ((?:\[\w\w\])*)$/ or die "a mapping is $_\n";
		push @mappings,
		  {
			id => $1, start => hex $2, limit => hex $3,
			file => $4, build_id => $5, has => $6
		  };
	}
	return \@mappings;
}

# A profile, by what raw_pprof returns and the number of its bytes.
sub read_pprof
{
	my ($raw, $bytes) = @_;
	my ($head, $samples, $locations, $mappings) =
	  $raw =~ /^(.*?)^Samples:\n(.*?)^Locations\n(.*?)^Mappings\n(.*)$/ms
	  or die "this is no profile: $raw\n";
	my ($types, @samples) = split /\n/, $samples;
	my @time = $head =~ /^Time: (\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)/m;

	return {
		raw => $raw,
		bytes => $bytes,
		default => $types =~ /(\S+)\/\S+\[dflt\]/ ? "$1" : '',
		types => [ split ' ', $types =~ s/\[dflt\]//r ],
		comments => [ $head =~ /^Comment: (.*)$/mg ],
		period_type => $head =~ /^PeriodType: (.*)$/m ? "$1" : '',
		period => $head =~ /^Period: (\d+)$/m ? "$1" : 0,
		time => @time ? timegm(@time[ 5, 4, 3, 2 ], $time[1] - 1, $time[0]) : 0,
		duration => $head =~ /^Duration: (\S+)/m ? "$1" : 0,
		samples => samples_of(@samples),
		locations => locations_of(split /\n/, $locations),
		mappings => mappings_of(split /\n/, $mappings)
	};
}

# Which value of a sample is of that type.
sub value_index
{
	my ($profile, $type) = @_;
	my ($index) = grep { $profile->{types}[$_] =~ /^\Q$type\E\// } 0 .. $#{ $profile->{types} };

	return $index // die "the profile has no $type\n";
}

# The sum of a type over all samples.
sub pprof_sum
{
	my ($profile, $type) = @_;
	my $index = value_index($profile, $type);
	my $sum = 0;

	$sum += $_->{values}[$index] for @{ $profile->{samples} };
	return $sum;
}

# A label of a sample.
sub pprof_label
{
	my ($sample, $key) = @_;
	my ($label) = grep { $_->{key} eq $key } @{ $sample->{labels} };

	return $label && $label->{text};
}

# The functions of a sample, the innermost first.
sub pprof_stack
{
	my ($profile, $sample) = @_;

	return map { $_->{name} } map { @{ $profile->{locations}{$_}{functions} } } @{ $sample->{ids} };
}

# The values of a type of all samples whose stacks have a function.
sub pprof_values
{
	my ($profile, $type, $function) = @_;
	my $index = value_index($profile, $type);

	return map { $_->{values}[$index] }
	  grep { grep { $_ eq $function } pprof_stack($profile, $_) } @{ $profile->{samples} };
}

# What is wrong with the texts.
sub text_faults
{
	my ($profile) = @_;
	my @names = map { $_->{name} } map { @{ $_->{functions} } } values %{ $profile->{locations} };
	my @faults;

	push @faults, 'a text is not UTF-8'
	  unless eval { Encode::decode('UTF-8', my $copy = $profile->{raw}, Encode::FB_CROAK); 1 };
	push @faults, 'a name is too long' if grep { length > $limits{symbol_bytes} } @names;
	return @faults;
}

# What is wrong with the types: the period is a part of the profile's own.
sub type_faults
{
	my ($profile, $rules) = @_;
	my @types = @{ $profile->{types} };
	my @faults;

	push @faults, "the types are @types" if "@types" ne $rules->{types};
	push @faults, 'there are too many types' if @types > $limits{types} && !$rules->{many_types};
	push @faults, 'a type has a "-" in its name' if grep { /-/ } @types;
	push @faults, 'there is no default type' if $profile->{default} eq '';
	push @faults, 'there is no period type' if $profile->{period_type} ne 'space bytes';
	push @faults, 'there is no period' if $profile->{period} <= 0;
	return @faults;
}

# What is wrong with the time: stores refuse what is old, and take what has a duration
# for a difference.
sub time_faults
{
	my ($profile, $rules) = @_;
	my $age = time - $profile->{time};
	my @faults;

	push @faults, "it is $age s old"
	  if !$rules->{of_dump} && ($age > $limits{age} || $age < -$limits{ahead});
	push @faults, 'it has no time' if $profile->{time} <= 0;
	push @faults, "its duration is $profile->{duration}" if !$rules->{growth} != !$profile->{duration};
	return @faults;
}

# Is that the name of a function, and not of what none was found for?
sub is_name
{
	my ($name) = @_;

	return $name !~ /\+0x[0-9a-f]+( \[.*\])?$|^0x[0-9a-f]+ /;
}

# What is wrong with the mappings: the first is the server's, and they say what their
# locations have.
sub mapping_faults
{
	my ($profile, $rules) = @_;
	my @mappings = @{ $profile->{mappings} };
	my @info = grep { /^executableInfo=/ } @{ $profile->{comments} };
	my @faults;

	push @faults, 'the first mapping is not the server' if !@mappings || basename($mappings[0]{file}) ne 'postgres';
	push @faults, "the first mapping has another build id" if @mappings && $mappings[0]{build_id} ne $rules->{build_id};
	push @faults, 'mappings and the facts about them differ in number'
	  if @info != ($rules->{unnamed} ? @mappings : 0);
	push @faults, 'facts about a mapping are not readable'
	  if grep { !/^executableInfo=0x[23];0x[0-9a-f]+;0x[0-9a-f]+$/ } @info;
	for my $mapping (@mappings)
	{
		my $id = $mapping->{id};
		my @functions = map { @{ $_->{functions} } }
		  grep { ($_->{mapping} // 0) == $id } values %{ $profile->{locations} };
		my %has = (
			FN => scalar(grep { is_name($_->{name}) } @functions),
			FL => scalar(grep { $_->{file} ne '' } @functions),
			LN => scalar(grep { $_->{line} > 0 } @functions));

		push @faults, "mapping $id is empty" if $mapping->{start} >= $mapping->{limit};
		push @faults, "mapping $id has no name" if $mapping->{file} eq '';
		push @faults, map { "mapping $id is wrong in $_" }
		  grep { ($has{$_} > 0) != ($mapping->{has} =~ /\[$_\]/) } sort keys %has;
	}
	return @faults;
}

# What is wrong with locations: each lies in its mapping, and has a name or an address.
sub location_faults
{
	my ($profile, $rules) = @_;
	my %mappings = map { $_->{id} => $_ } @{ $profile->{mappings} };
	my @faults;

	for my $location (values %{ $profile->{locations} })
	{
		my $mapping = $location->{mapping} && $mappings{ $location->{mapping} };
		my $names = @{ $location->{functions} };

		push @faults, "location $location->{id} is outside of its mapping"
		  if $mapping
		  && ($location->{address} < $mapping->{start} || $location->{address} >= $mapping->{limit});
		push @faults, "location $location->{id} is nothing" if !$mapping && !$names;
		push @faults, "location $location->{id} has names" if $rules->{unnamed} && $mapping && $names;
	}
	return @faults;
}

# What is wrong with the labels of a sample: all are texts.
sub label_faults
{
	my ($sample) = @_;
	my %keys;
	my @faults;

	push @faults, 'a sample has too many labels' if @{ $sample->{labels} } > $limits{labels};
	push @faults, map { "label \"$_->{key}\" is no text" } @{ $sample->{other_labels} };
	for my $label (@{ $sample->{labels} })
	{
		my $key = $label->{key};

		push @faults, "label \"$key\" is there twice" if $keys{$key}++;
		push @faults, "a label is called \"$key\"" unless $key =~ /^[a-z_]+$/;
		push @faults, "label \"$key\" is too long" if length $label->{text} > $limits{label_bytes};
	}
	return @faults;
}

# What is wrong with the samples.
sub sample_faults
{
	my ($profile, $rules) = @_;
	my (%seen, %used);
	my @faults;

	push @faults, 'there are too many samples' if @{ $profile->{samples} } > $limits{samples} && !$rules->{large};
	for my $sample (@{ $profile->{samples} })
	{
		my @ids = @{ $sample->{ids} };
		my @labels = sort map { "$_->{key}=$_->{text}" } @{ $sample->{labels} };

		push @faults, 'a sample has only zeros' unless grep { $_ != 0 } @{ $sample->{values} };
		push @faults, 'a sample is negative' if !$rules->{growth} && grep { $_ < 0 } @{ $sample->{values} };
		push @faults, 'a sample has no stack, or too deep a one' if @ids < 1 || @ids > $limits{depth};
		push @faults, 'two samples have the same stack and labels' if $seen{"@ids|@labels"}++;
		push @faults, label_faults($sample);
		$used{$_} = 1 for @ids;
	}
	push @faults, map { "location $_ is in no sample" } grep { !$used{$_} } keys %{ $profile->{locations} };
	return @faults;
}

# All that is wrong with a profile.  The rules are its types, and the build id of the
# server; and that it is of a dump, of growth, without names (unnamed), or without a
# limit (large, many_types).
sub pprof_faults
{
	my ($profile, %rules) = @_;
	my @faults = (
		text_faults($profile),
		type_faults($profile, \%rules),
		time_faults($profile, \%rules),
		mapping_faults($profile, \%rules),
		location_faults($profile, \%rules),
		sample_faults($profile, \%rules));
	my %told;

	push @faults, 'it is too large' if $profile->{bytes} > $limits{bytes} && !$rules{large};
	return grep { !$told{$_}++ } @faults;
}

1;
