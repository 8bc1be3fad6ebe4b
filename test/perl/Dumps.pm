# Writes dump files of sites that nobody has allocated at, and changes dumps that are
# there.  The layout is that of src/profile/profile_layout.h and dump_layout.h.
package Dumps;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(make_dump write_dump write_bytes frame seal_dump header_of foot_of parts_of names_of
  with_names with_parts crc32c);

my $LAYOUT = 1;
my ($MODULE, $STRING, $STATEMENT, $STACK, $SITE) = 1 .. 5;
my $RECORD = 'L6';    # kind, bytes, chain, hash, born, references
my $COUNTERS = 'q6 d q2';

# The fixed parts of the kinds of records, behind $RECORD; and of the header and the foot.
my %FIXED = (
	$MODULE => 'L2 a20 L Q3 q',     # index, build-id, path's bytes, text, seen at
	$STRING => 'Q',                 # bytes
	$STATEMENT => 'Q2',             # query id, bytes
	$STACK => 'L2',                 # depth, truncated
	$SITE => "L4 $COUNTERS Q q L4 x72 L2 x32");
my $HEADER_WHO = 'a8 L2 l L Q q L2 Q Z96 l Z64 Z64 Z64 x!8 q L l';
my $HEADER_WHAT = "L7 x!8 $COUNTERS $COUNTERS q2 q q3 q3 q3 L3 x!8 Q2 q16 L4";
my @HEADER_NAMES = qw(
  magic layout_version pg_version pid backend_type process_start started_at database_oid
  role_oid system_identifier label encoding application_name database role died_at
  death_kind death_number
  sample_interval scope catch_all_site malloc_tracked used_bytes published_bytes site_count
  live_bytes live_count total_bytes total_count live_samples total_samples live_variance
  first_at last_at malloc_live_bytes malloc_live_count malloc_total_bytes
  malloc_total_count malloc_live_samples malloc_total_samples malloc_live_variance
  malloc_first_at malloc_last_at peak_bytes peak_at samples_taken lost_samples_0 lost_samples_1
  lost_samples_2 lost_bytes_0 lost_bytes_1 lost_bytes_2 wrong_stacks overhead_bytes
  profile_bytes epoch epoch_over round last_change peak_change census_at worked_at context_bytes
  context_free_bytes malloc_bytes malloc_free_bytes malloc_sampled_bytes
  malloc_sampled_error malloc_other_bytes malloc_arena_bytes own_bytes own_peak_bytes own_peak_at exits_since
  node_memory_bytes maintenance_bytes context_count allocator census_changes history_count);
my $FOOT = 'Q2 q Z16 a8 L2';
my $FOOT_BYTES = length pack($FOOT, 0, 0, 0, '', '', 0, 0);
my $PART = 'L2 Q';              # kind, padding, bytes
my $NAME = 'Q L4';              # frame, bytes, line, inlined, function's bytes
my $NAMES_PART = 2;

# The times of dumps that say none: 2020-01-01, in microseconds from 2000-01-01 on.
my $TIME = 7305 * 86400 * 1_000_000;

# The table of CRC-32C: the reflected polynomial is 0x82F63B78.
my @crc_table = map {
	my $crc = $_;
	$crc = $crc & 1 ? 0x82F63B78 ^ ($crc >> 1) : $crc >> 1 for 1 .. 8;
	$crc;
} 0 .. 255;

sub crc32c
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;

	for (my $at = 0; $at < length $bytes; $at += 65536)
	{
		$crc = $crc_table[ ($crc ^ $_) & 255 ] ^ ($crc >> 8)
		  for unpack 'C*', substr($bytes, $at, 65536);
	}
	return $crc ^ 0xFFFFFFFF;
}

# The frame of an address in the module of that number, from 1 on; 0 is no module.
sub frame
{
	my ($module, $address) = @_;

	return $module << 48 | $address;
}

# Fill up to a multiple of a number of bytes.
sub aligned
{
	my ($bytes, $step) = @_;

	return $bytes . "\0" x (-length($bytes) % $step);
}

# Append a record to a profile; returns its offset.  Texts and frames are its end.
sub add_record
{
	my ($profile, $kind, $end, @fields) = @_;
	my $offset = length $$profile;
	my $body = pack($FIXED{$kind}, @fields) . $end;
	my $bytes = length aligned(pack($RECORD, (0) x 6) . $body, 32);

	$$profile .= aligned(pack($RECORD, $kind, $bytes, (0) x 4) . $body, 32);
	return $offset;
}

# Append a record, unless the same one is there.
sub add_once
{
	my ($profile, $known, $kind, $end, @fields) = @_;
	my $key = join "\0", $kind, @fields, $end;

	return $known->{$key} //= add_record($profile, $kind, $end, @fields);
}

# The key of a site: the offsets of its stack, context and statement, 0 if there is none,
# and its lifetime.
sub add_key
{
	my ($profile, $known, $site) = @_;
	my $stack = $site->{stack};
	my $context = $site->{context} // 'c';
	my $statement = $site->{statement};

	return (
		$stack ? add_once($profile, $known, $STACK, pack('Q*', @$stack), scalar @$stack, 0) : 0,
		add_once($profile, $known, $STRING, "$context\0", length $context),
		defined $statement
		? add_once($profile, $known, $STATEMENT, "$statement\0", $site->{query_id} // 0, length $statement)
		: 0,
		$site->{lifetime} // 0);
}

# The counters of a number of bytes in a number of objects, each of them a sample.
sub counters
{
	my ($bytes, $count) = @_;

	return ($bytes, $count, $bytes, $count, $count, $count, 0, $TIME, $TIME);
}

# The profile of a dump: all but its parts and its foot.
sub make_profile
{
	my (%dump) = @_;
	my @sites = @{ $dump{sites} };
	my $header_bytes = 0;
	my ($bytes, $count, $index, $profile, %known) = (0, 0, 0);
	my $header = sub {
		pack(                   # ends with three portals
			"$HEADER_WHO $HEADER_WHAT x!8 x11520 q4 x960 L x!8 q6 L4 q L2 x1848",
			'PLHPROF', $dump{layout} // $LAYOUT, 150000,
			$dump{pid} // 1, 0, 1, $TIME, 0, 0, 1,
			'client backend', $dump{encoding} // 6, $dump{application} // '', $dump{database} // '', $dump{role} // '', 0, 0, 0,
			1, 0, $header_bytes, 0, length($profile // ''), length($profile // ''), scalar @sites,
			counters($bytes, $count), (0) x 9,
			$bytes, $TIME, $count, (0) x 3, (0) x 3, 0, 0, 0,
			1, 1, 1, 0, 0, (0) x 16, (0) x 4,
			(0) x 4,
			$dump{courses_refused} // 0, (0) x 13);
	};

	$header_bytes = length $header->();
	$profile = "\0" x $header_bytes;
	# the catch-all site
	add_record(\$profile, $SITE, '', (0) x 21);
	for my $module (@{ $dump{modules} // [] })
	{
		my ($path, $build_id) = ref $module ? @$module : ($module, chr($index + 1));

		add_record(\$profile, $MODULE, "$path\0", ++$index, length $build_id, $build_id,
			length $path, 0, 4096, 0, $TIME);
	}
	for my $site (@sites)
	{
		my ($site_bytes, $site_count) = ($site->{bytes} // 100, $site->{count} // 1);

		add_record(\$profile, $SITE, '', add_key(\$profile, \%known, $site),
			counters($site_bytes, $site_count), 0, $site->{peak} // 0, 1, 1, 1, 0, 1, 0);
		$bytes += $site_bytes;
		$count += $site_count;
	}
	substr($profile, 0, $header_bytes) = $header->();
	return $profile;
}

# A part, with what stands before it.
sub part
{
	my ($kind, $data) = @_;
	my $padding = -length($data) % 8;

	return pack($PART, $kind, $padding, length $data) . $data . "\0" x $padding;
}

# What stands behind the profile and the parts of a dump.
sub foot
{
	my ($before, $profile_bytes, $reason) = @_;
	my $foot = pack($FOOT, length($before) + $FOOT_BYTES, $profile_bytes, $TIME,
		$reason, 'PLHDUMP', 0, 0);

	substr($foot, -4) = pack('L', crc32c($before . substr($foot, 0, -4)));
	return $foot;
}

# A dump of a profile with these parts.
sub with_parts
{
	my ($profile, $reason, @parts) = @_;
	my $before = join '', $profile, map { part(@$_) } @parts;

	return $before . foot($before, length $profile, $reason);
}

# The bytes of a dump, also one whose owner had no room for a course (courses_refused), or
# with the names of an application, a database and a role.  A site is {stack => [frames, the
# innermost first], context, lifetime (a number), statement, query_id, bytes, count}, of which
# nothing is needed; a module is a path, or [path, build-id]; a name is [frame, function,
# file, line, inlined].
sub make_dump
{
	my (%dump) = @_;
	my $names = $dump{names};

	return with_parts(make_profile(%dump), $dump{reason} // 'manual',
		$names ? [ $NAMES_PART, pack_names(@$names) ] : ());
}

# Write bytes to a file.
sub write_bytes
{
	my ($path, $bytes) = @_;

	open my $out, '>:raw', $path or die "$path: $!";
	print $out $bytes;
	close $out or die "$path: $!";
}

sub write_dump
{
	my ($path, @dump) = @_;

	write_bytes($path, make_dump(@dump));
}

# The fields of the header of a dump or a profile, by name.
sub header_of
{
	my ($bytes) = @_;
	my %header;

	@header{@HEADER_NAMES} = unpack "$HEADER_WHO $HEADER_WHAT", $bytes;
	return \%header;
}

# The fields of a dump's foot.
sub foot_of
{
	my ($bytes) = @_;
	my %foot;

	@foot{qw(file_bytes profile_bytes written_at reason magic unused checksum)} =
	  unpack $FOOT, substr($bytes, -$FOOT_BYTES);
	return \%foot;
}

# The parts of a dump: [kind, data].
sub parts_of
{
	my ($bytes) = @_;
	my $at = foot_of($bytes)->{profile_bytes};
	my @parts;

	while ($at < length($bytes) - $FOOT_BYTES)
	{
		my ($kind, $padding, $length) = unpack $PART, substr($bytes, $at, 16);

		push @parts, [ $kind, substr($bytes, $at + 16, $length) ];
		$at += 16 + $length + $padding;
	}
	return @parts;
}

# A dump whose bytes have been changed, with the size and the checksum that it has now.
sub seal_dump
{
	my ($bytes) = @_;
	my $before = substr($bytes, 0, -$FOOT_BYTES);
	my $foot = substr($bytes, -$FOOT_BYTES);

	substr($foot, 0, 8) = pack('Q', length $bytes);
	substr($foot, -4) = pack('L', crc32c($before . substr($foot, 0, -4)));
	return $before . $foot;
}

sub pack_names
{
	return join '', map {
		my ($frame, $function, $file, $line, $inlined) = @$_;
		my $texts = $function . "\0" . ($file // '') . "\0";
		my $length = length aligned(pack($NAME, (0) x 5) . $texts, 8);

		aligned(
			pack($NAME, $frame, $length, $line // 0, $inlined // 0, 1 + length $function) . $texts, 8);
	} @_;
}

# The names of functions that a dump has with it.
sub names_of
{
	my ($bytes) = @_;
	my ($part) = map { $_->[1] } grep { $_->[0] == $NAMES_PART } parts_of($bytes);
	my @names;

	while (length($part // ''))
	{
		my ($frame, $length, $line, $inlined, $function_bytes) = unpack $NAME, $part;
		my ($function, $file) = split /\0/, substr($part, 24, $length - 24), -1;

		push @names, [ $frame, $function, $file, $line, $inlined ];
		$part = substr($part, $length);
	}
	return @names;
}

# The same dump with other names, and nothing else changed.
sub with_names
{
	my ($bytes, @names) = @_;
	my $foot = foot_of($bytes);

	return with_parts(
		substr($bytes, 0, $foot->{profile_bytes}),
		$foot->{reason},
		(grep { $_->[0] != $NAMES_PART } parts_of($bytes)),
		[ $NAMES_PART, pack_names(@names) ]);
}

1;
