# The bounds that pg_leakhunt promises for its files, descriptors and memory, looked at every few
# seconds.  What is out of bounds for a moment, as the keeper comes by every few seconds, is none.
package YearBounds;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use YearLog;

# What may last that long until it is put right.
use constant PATIENCE => 30;

sub new
{
	my ($class, $server, $faults) = @_;

	return bless { server => $server, faults => $faults, since => {}, looks => 0, most => {}, lives => [] }, $class;
}

# Note whether a bound holds now.
sub _holds
{
	my ($self, $what, $holds, $figures) = @_;
	my $now = YearLog::now();

	if ($holds)
	{
		delete $self->{since}{$what};
		return;
	}
	my $since = $self->{since}{$what} //= $now;
	return if $now - $since < PATIENCE;
	push @{ $self->{faults} }, "$what: not so for " . PATIENCE . " s: $figures";
	$self->{since}{$what} = $now + 10 * PATIENCE;
	return;
}

sub _note_most
{
	my ($self, $what, $value) = @_;

	$self->{most}{$what} = $value if $value > ($self->{most}{$what} // 0);
	return;
}

# A process that is gone may leave a file for some time.
sub look
{
	my ($self) = @_;
	my $server = $self->{server};

	$self->{looks}++;
	$self->_look_at_profiles;
	$self->_look_at_dumps;
	$self->_look_at_keeper;
	return;
}

sub directory
{
	my ($self) = @_;

	# the name is known once a server has run
	return $self->{directory} //= $self->_find_directory;
}

sub _find_directory
{
	my ($self) = @_;
	my $data = $self->{server}->node->data_dir;
	my ($found) = grep { (eval { slurp_file("$_/README") } // '') =~ /^data_directory: \Q$data\E$/m } glob('/dev/shm/pg_leakhunt.*');

	return $found;
}

# Bytes that files take of their disk.
sub _taken
{
	my $bytes = 0;

	$bytes += 512 * ((stat $_)[12] // 0) for @_;
	return $bytes;
}

# Blocks of a file system, in bytes: all of them.
sub _size_of
{
	my ($path) = @_;
	my ($size) = (split ' ', (qx(df -B1 --output=size '$path'))[1])[0];

	return $size;
}

sub _look_at_profiles
{
	my ($self) = @_;
	my $directory = $self->directory // return;
	my @files = glob("$directory/*");
	my $taken = _taken(@files);
	my @gone = grep { m{/(\d+)(?:\.\d+(?:\.saved)?)?$} && !-e "/proc/$1" } @files;
	my @beside = grep { m{/baseline\.([1-9]\d*)$} && !-e "/proc/$1" } @files;
	my $kept = $self->{server}{crashes} ? 16 : 0;

	$self->_note_most('profiles', scalar @files);
	$self->_note_most('bytes of profiles', $taken);
	$self->{quarter} //= _size_of('/dev/shm') / 4;
	$self->_holds('profiles take at most a quarter of /dev/shm', $taken <= $self->{quarter}, "$taken of $self->{quarter} bytes");
	$self->_holds('profiles of processes that are gone are removed', @gone <= $kept, "@gone");
	$self->_holds('baselines of processes that are gone are removed', @beside <= $kept, "@beside");
	my @begun = grep { /\.tmp$/ } @files;
	$self->_holds('nothing that was begun stays with the profiles', !@begun, "@begun");
	return;
}

sub _look_at_dumps
{
	my ($self) = @_;
	my $server = $self->{server};
	my @files = glob("$server->{dumps}/*");
	my ($keep, $size) = ($server->{limits}{'pg_leakhunt.dump_keep'}, $server->{limits}{'pg_leakhunt.dump_max_size'});
	my %of_reason;

	push @{ $of_reason{ (split /\./)[-2] } }, $_ for grep { /\.profile$/ } @files;
	for my $reason (sort keys %of_reason)
	{
		my $number = @{ $of_reason{$reason} };

		$self->_note_most("dumps of $reason", $number);
		# a tenth more, and one that is just written
		$self->_holds("at most dump_keep dumps of $reason", $number <= $keep * 1.1 + 1, "$number of $keep");
	}
	my @dumps = grep { /\.(?:profile|heap)$/ } @files;
	my $bytes = 0;
	$bytes += -s $_ // 0 for @dumps;
	$self->_note_most('bytes of dumps', $bytes);
	# the youngest of each reason stays
	my $youngest = 2 * (1 << 20) * keys %of_reason;
	$self->_holds('dumps take at most dump_max_size', $bytes <= $size + $youngest, "$bytes of $size");
	my @others = grep { !/\.(?:profile|heap)$|\/(?:statements|capacity)\.\d+$|\/filler$/ } @files;
	$self->_holds('the directory of dumps has nothing but dumps and two records', !@others, "@others");
	return;
}

# Each life of a keeper: descriptors and memory as it went on, with the sessions seen until then.
sub _look_at_keeper
{
	my ($self) = @_;
	my $server = $self->{server};
	my $keeper = $server->keeper // return;
	my $life = $self->{lives}[-1];

	if (!$life || $life->{pid} != $keeper || $life->{postmaster} != $server->{postmaster})
	{
		push @{ $self->{lives} }, $life = { pid => $keeper, postmaster => $server->{postmaster}, began => YearLog::now(), looks => [] };
	}
	return if YearLog::now() - $life->{began} < 4;
	my $descriptors = () = glob("/proc/$keeper/fd/*");
	my $of_postmaster = () = glob("/proc/$server->{postmaster}/fd/*");
	# it counts its memory once it has a profile
	$server->try_to_ask(q{SELECT pg_leakhunt_start(pid, 65536) FROM pg_leakhunt_processes WHERE backend_type IN ('pg_leakhunt keeper', 'postmaster')}, 1)
	  if !defined $life->{descriptors};
	$life->{descriptors} //= $descriptors;
	$life->{of_postmaster} //= $of_postmaster;
	# a file that is read just now
	$self->_holds('the keeper has no more descriptors than at first', $descriptors <= $life->{descriptors} + 1, "$descriptors, $life->{descriptors} at first");
	$self->_holds('the postmaster has no more descriptors than at first', $of_postmaster <= $life->{of_postmaster} + 4, "$of_postmaster, $life->{of_postmaster} at first");
	$self->_note_most('descriptors of the keeper', $descriptors);
	return if !$server->{up};
	my ($status, $answer) = $server->try_to_ask(q{SELECT string_agg(backend_type || '=' || context_bytes || '=' || rss_anon_bytes, ' ') FROM pg_leakhunt_processes WHERE backend_type IN ('pg_leakhunt keeper', 'postmaster')}, 1);
	my ($contexts, $own) = $answer =~ /pg_leakhunt keeper=(\d+)=(\d+)/;
	my @of_postmaster = $answer =~ /postmaster=(\d+)=(\d+)/;
	push @{ $life->{looks} }, { at => YearLog::now(), sessions => $self->{sessions}->(), contexts => $contexts, own => $own, postmaster => \@of_postmaster }
	  if $status == 0 && $contexts && @of_postmaster;
	return;
}

# The keeper's life in which most sessions were seen, by what it had at the beginning and at the end:
# the highest of the first and of the last third.
sub longest_life
{
	my ($self) = @_;
	my ($longest) = sort { _sessions_of($b) <=> _sessions_of($a) } grep { @{ $_->{looks} } > 6 } @{ $self->{lives} };

	return $longest ? _ends_of($longest) : undef;
}

sub _sessions_of
{
	my ($life) = @_;
	my @looks = @{ $life->{looks} };

	return @looks ? $looks[-1]{sessions} - $looks[0]{sessions} : 0;
}

sub _ends_of
{
	my ($life) = @_;
	my @looks = @{ $life->{looks} };
	my $third = int(@looks / 3);
	my %ends = (sessions => _sessions_of($life), seconds => $looks[-1]{at} - $looks[0]{at}, looks => scalar @looks);

	for my $what (qw(contexts own))
	{
		$ends{$what} = [ map { my ($most) = sort { $b <=> $a } map { $_->{$what} } @$_; $most } [ @looks[ 0 .. $third - 1 ] ], [ @looks[ -$third .. -1 ] ] ];
	}
	$ends{postmaster} = [ $looks[0]{postmaster}, $looks[-1]{postmaster} ];
	return \%ends;
}

1;
