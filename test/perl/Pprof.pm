# Profiles for pprof as those see them who store such profiles: a reader of the format
# that knows nothing of how we write it, and the rules by which Pyroscope and Parca take
# a profile or refuse it.
package Pprof;

use strict;
use warnings;

use Encode;
use Exporter 'import';
use File::Basename;

our @EXPORT = qw(read_pprof pprof_faults pprof_sum pprof_label pprof_stack pprof_values);

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

# The messages of the format: for each number of a field its name, and what it is: a
# "number", "numbers" (repeated), "bytes" or "texts" (repeated), a message, or several.
my %messages = (
	profile => {
		1 => [ 'sample_type', 'value_type', 1 ],
		2 => [ 'sample', 'sample', 1 ],
		3 => [ 'mapping', 'mapping', 1 ],
		4 => [ 'location', 'location', 1 ],
		5 => [ 'function', 'function', 1 ],
		6 => [ 'string_table', 'texts' ],
		7 => [ 'drop_frames', 'number' ],
		8 => [ 'keep_frames', 'number' ],
		9 => [ 'time_nanos', 'number' ],
		10 => [ 'duration_nanos', 'number' ],
		11 => [ 'period_type', 'value_type' ],
		12 => [ 'period', 'number' ],
		13 => [ 'comment', 'numbers' ],
		14 => [ 'default_sample_type', 'number' ],
	},
	value_type => { 1 => [ 'type', 'number' ], 2 => [ 'unit', 'number' ] },
	sample => {
		1 => [ 'location_id', 'numbers' ],
		2 => [ 'value', 'numbers' ],
		3 => [ 'label', 'label', 1 ],
	},
	label => {
		1 => [ 'key', 'number' ],
		2 => [ 'str', 'number' ],
		3 => [ 'num', 'number' ],
		4 => [ 'num_unit', 'number' ],
	},
	mapping => {
		1 => [ 'id', 'number' ],
		2 => [ 'memory_start', 'number' ],
		3 => [ 'memory_limit', 'number' ],
		4 => [ 'file_offset', 'number' ],
		5 => [ 'filename', 'number' ],
		6 => [ 'build_id', 'number' ],
		7 => [ 'has_functions', 'number' ],
		8 => [ 'has_filenames', 'number' ],
		9 => [ 'has_line_numbers', 'number' ],
		10 => [ 'has_inline_frames', 'number' ],
	},
	location => {
		1 => [ 'id', 'number' ],
		2 => [ 'mapping_id', 'number' ],
		3 => [ 'address', 'number' ],
		4 => [ 'line', 'line', 1 ],
		5 => [ 'is_folded', 'number' ],
	},
	line => { 1 => [ 'function_id', 'number' ], 2 => [ 'line', 'number' ] },
	function => {
		1 => [ 'id', 'number' ],
		2 => [ 'name', 'number' ],
		3 => [ 'system_name', 'number' ],
		4 => [ 'filename', 'number' ],
		5 => [ 'start_line', 'number' ],
	});

# Take a number off the front of bytes; numbers are signed, of 64 bits.
sub take_number
{
	my ($bytes) = @_;
	my ($value, $shift) = (0, 0);

	while (1)
	{
		my $byte = ord substr($$bytes, 0, 1, '') if length $$bytes;

		die "the profile is cut short\n" unless defined $byte;
		$value |= ($byte & 0x7F) << $shift if $shift < 64;
		last if $byte < 0x80;
		$shift += 7;
	}
	return unpack 'q', pack 'Q', $value;
}

# Take so many bytes off the front.
sub take_bytes
{
	my ($bytes, $count) = @_;

	die "the profile is cut short\n" if $count < 0 || $count > length $$bytes;
	return substr $$bytes, 0, $count, '';
}

# Read a message of that kind.
sub read_message
{
	my ($kind, $bytes) = @_;
	my $fields = $messages{$kind};
	my %message;

	for my $field (values %$fields)
	{
		my ($name, $type, $repeated) = @$field;

		$message{$name} = $type eq 'number' ? 0 : $repeated || $type =~ /s$/ ? [] : undef;
	}
	while (length $bytes)
	{
		my $tag = take_number(\$bytes);
		my ($number, $wire) = ($tag >> 3, $tag & 7);
		my ($name, $type, $repeated) = @{ $fields->{$number} // die "$kind has field $number\n" };
		my $value =
			$wire == 0 ? take_number(\$bytes)
		  : $wire == 2 ? take_bytes(\$bytes, take_number(\$bytes))
		  : die "$kind has wire type $wire\n";

		if ($type eq 'number')
		{
			$message{$name} = $value;
		}
		elsif ($type eq 'numbers')
		{
			# these may be packed
			push @{ $message{$name} }, $value if $wire == 0;
			push @{ $message{$name} }, take_number(\$value) while $wire == 2 && length $value;
		}
		elsif ($type eq 'texts')
		{
			push @{ $message{$name} }, $value;
		}
		elsif ($repeated)
		{
			push @{ $message{$name} }, read_message($type, $value);
		}
		else
		{
			$message{$name} = read_message($type, $value);
		}
	}
	return \%message;
}

# Read a profile.
sub read_pprof
{
	my ($bytes) = @_;
	my $profile = read_message('profile', $bytes);

	$profile->{bytes} = length $bytes;
	return $profile;
}

# The text with that number.
sub text
{
	my ($profile, $number) = @_;

	return $profile->{string_table}[$number] // '';
}

# Which value of a sample is of that type.
sub value_index
{
	my ($profile, $type) = @_;
	my @types = map { text($profile, $_->{type}) } @{ $profile->{sample_type} };
	my ($index) = grep { $types[$_] eq $type } 0 .. $#types;

	return $index // die "the profile has no $type\n";
}

# The sum of a type over all samples.
sub pprof_sum
{
	my ($profile, $type) = @_;
	my $index = value_index($profile, $type);
	my $sum = 0;

	$sum += $_->{value}[$index] for @{ $profile->{sample} };
	return $sum;
}

# A label of a sample.
sub pprof_label
{
	my ($profile, $sample, $key) = @_;
	my ($label) = grep { text($profile, $_->{key}) eq $key } @{ $sample->{label} };

	return $label && text($profile, $label->{str});
}

# The functions of a sample, the innermost first.
sub pprof_stack
{
	my ($profile, $sample) = @_;

	return map { text($profile, $profile->{function}[ $_->{function_id} - 1 ]{name}) }
	  map { @{ $profile->{location}[ $_ - 1 ]{line} } } @{ $sample->{location_id} };
}

# The values of a type of all samples whose stacks have a function.
sub pprof_values
{
	my ($profile, $type, $function) = @_;
	my $index = value_index($profile, $type);

	return map { $_->{value}[$index] }
	  grep { grep { $_ eq $function } pprof_stack($profile, $_) } @{ $profile->{sample} };
}

# What is wrong with ids: they must count from 1.
sub id_faults
{
	my ($profile, $table) = @_;
	my @entries = @{ $profile->{$table} };

	return map { "$table $_ has another id" } grep { $entries[ $_ - 1 ]{id} != $_ } 1 .. @entries;
}

# What is wrong with the strings, and with numbers of strings.
sub string_faults
{
	my ($profile) = @_;
	my @strings = @{ $profile->{string_table} };
	my %seen;
	my @faults;

	push @faults, 'string 0 is not empty' if ($strings[0] // '?') ne '';
	for my $string (@strings)
	{
		push @faults, 'a string is there twice' if $seen{$string}++;
		push @faults, 'a string is not UTF-8'
		  unless eval { Encode::decode('UTF-8', my $copy = $string, Encode::FB_CROAK); 1 };
		push @faults, 'a string is too long' if length $string > $limits{symbol_bytes};
	}
	my @numbers = (
		(map { ($_->{type}, $_->{unit}) } @{ $profile->{sample_type} }, $profile->{period_type} // ()),
		(map { ($_->{filename}, $_->{build_id}) } @{ $profile->{mapping} }),
		(map { ($_->{name}, $_->{system_name}, $_->{filename}) } @{ $profile->{function} }),
		(map { ($_->{key}, $_->{str}) } map { @{ $_->{label} } } @{ $profile->{sample} }),
		@{ $profile->{comment} }, $profile->{drop_frames}, $profile->{default_sample_type});
	push @faults, 'a string is not there' if grep { $_ < 0 || $_ > $#strings } @numbers;
	return @faults;
}

# What is wrong with the types: the period is a part of the profile's own.
sub type_faults
{
	my ($profile, $rules) = @_;
	my @types = map { text($profile, $_->{type}) . '/' . text($profile, $_->{unit}) } @{ $profile->{sample_type} };
	my $default = text($profile, $profile->{default_sample_type});
	my $period = $profile->{period_type};
	my @faults;

	push @faults, "the types are @types" if "@types" ne $rules->{types};
	push @faults, 'there are too many types' if @types > $limits{types} && !$rules->{many_types};
	push @faults, 'a type has a "-" in its name' if grep { /-/ } @types;
	push @faults, 'the default type is not there' unless grep { /^\Q$default\E\// } @types;
	push @faults, 'there is no period type'
	  if !$period || text($profile, $period->{type}) ne 'space' || text($profile, $period->{unit}) ne 'bytes';
	push @faults, 'there is no period' if $profile->{period} <= 0;
	return @faults;
}

# What is wrong with the time: stores refuse what is old, and take what has a duration
# for a difference.
sub time_faults
{
	my ($profile, $rules) = @_;
	my $age = time - $profile->{time_nanos} / 1e9;
	my @faults;

	push @faults, "it is $age s old"
	  if !$rules->{of_dump} && ($age > $limits{age} || $age < -$limits{ahead});
	push @faults, 'it has no time' if $profile->{time_nanos} <= 0;
	push @faults, "its duration is $profile->{duration_nanos}"
	  if $rules->{growth} ? $profile->{duration_nanos} <= 0 : $profile->{duration_nanos} != 0;
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
	my @mappings = @{ $profile->{mapping} };
	my @info = grep { /^executableInfo=/ } map { text($profile, $_) } @{ $profile->{comment} };
	my @faults;

	push @faults, 'the first mapping is not the server'
	  if !@mappings || basename(text($profile, $mappings[0]{filename})) ne 'postgres';
	push @faults, "the first mapping has another build id"
	  if @mappings && text($profile, $mappings[0]{build_id}) ne $rules->{build_id};
	push @faults, 'mappings and the facts about them differ in number'
	  if @info != ($rules->{unnamed} ? @mappings : 0);
	push @faults, 'facts about a mapping are not readable'
	  if grep { !/^executableInfo=0x[23];0x[0-9a-f]+;0x[0-9a-f]+$/ } @info;
	for my $mapping (@mappings)
	{
		my @lines = map { @{ $_->{line} } }
		  grep { $_->{mapping_id} == $mapping->{id} } @{ $profile->{location} };
		my @functions = map { $profile->{function}[ $_->{function_id} - 1 ] } @lines;
		my %has = (
			has_functions => scalar(grep { is_name(text($profile, $_->{name})) } @functions),
			has_filenames => scalar(grep { $_->{filename} != 0 } @functions),
			has_line_numbers => scalar(grep { $_->{line} > 0 } @lines));

		push @faults, "mapping $mapping->{id} is empty" if $mapping->{memory_start} >= $mapping->{memory_limit};
		push @faults, "mapping $mapping->{id} has no name" if text($profile, $mapping->{filename}) eq '';
		push @faults, map { "mapping $mapping->{id} is wrong in $_" }
		  grep { ($has{$_} > 0) != $mapping->{$_} } sort keys %has;
	}
	return @faults;
}

# What is wrong with locations: each lies in its mapping, and has a name or an address.
sub location_faults
{
	my ($profile, $rules) = @_;
	my @faults;

	for my $location (@{ $profile->{location} })
	{
		my $id = $location->{mapping_id};
		my $mapping = $id > 0 ? $profile->{mapping}[ $id - 1 ] : undef;

		push @faults, "location $location->{id} has no mapping" if $id != 0 && !$mapping;
		push @faults, "location $location->{id} is outside of its mapping"
		  if $mapping
		  && ( $location->{address} < $mapping->{memory_start}
			|| $location->{address} >= $mapping->{memory_limit});
		push @faults, "location $location->{id} is nothing" if !$mapping && !@{ $location->{line} };
		push @faults, "location $location->{id} has names" if $rules->{unnamed} && $mapping && @{ $location->{line} };
		push @faults, "location $location->{id} has a function that is not there"
		  if grep { $_->{function_id} < 1 || $_->{function_id} > @{ $profile->{function} } } @{ $location->{line} };
	}
	return @faults;
}

# What is wrong with the labels of a sample: all are texts.
sub label_faults
{
	my ($profile, $sample) = @_;
	my %keys;
	my @faults;

	push @faults, 'a sample has too many labels' if @{ $sample->{label} } > $limits{labels};
	for my $label (@{ $sample->{label} })
	{
		my $key = text($profile, $label->{key});

		push @faults, "label \"$key\" is there twice" if $keys{$key}++;
		push @faults, "a label is called \"$key\"" unless $key =~ /^[a-z_]+$/;
		push @faults, "label \"$key\" is no text" if $label->{str} == 0 || $label->{num} != 0;
		push @faults, "label \"$key\" is too long" if length text($profile, $label->{str}) > $limits{label_bytes};
	}
	return @faults;
}

# What is wrong with the samples.
sub sample_faults
{
	my ($profile, $rules) = @_;
	my (%seen, %used);
	my @faults;

	push @faults, 'there are too many samples' if @{ $profile->{sample} } > $limits{samples} && !$rules->{large};
	for my $sample (@{ $profile->{sample} })
	{
		my @ids = @{ $sample->{location_id} };
		my @labels = sort map { "$_->{key}=$_->{str}" } @{ $sample->{label} };

		push @faults, 'a sample has another number of values'
		  if @{ $sample->{value} } != @{ $profile->{sample_type} };
		push @faults, 'a sample has only zeros' unless grep { $_ != 0 } @{ $sample->{value} };
		push @faults, 'a sample is negative' if !$rules->{growth} && grep { $_ < 0 } @{ $sample->{value} };
		push @faults, 'a sample has no stack, or too deep a one' if @ids < 1 || @ids > $limits{depth};
		push @faults, 'a sample has a location that is not there'
		  if grep { $_ < 1 || $_ > @{ $profile->{location} } } @ids;
		push @faults, 'two samples have the same stack and labels' if $seen{"@ids|@labels"}++;
		push @faults, label_faults($profile, $sample);
		$used{$_} = 1 for @ids;
	}
	push @faults, 'a location is in no sample' if keys %used != @{ $profile->{location} };
	return @faults;
}

# All that is wrong with a profile.  The rules are its types, and the build id of the
# server; and that it is of a dump, of growth, without names (unnamed), or without a
# limit (large, many_types).
sub pprof_faults
{
	my ($profile, %rules) = @_;
	my @faults = (
		string_faults($profile),
		(map { id_faults($profile, $_) } 'mapping', 'function', 'location'),
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
