# The log of the server of a year: every entry is read as it is written, over rotations, and must
# be one that is expected.
package YearLog;

use strict;
use warnings;

use Time::HiRes;

# What log_line_prefix must be.
our $prefix = '%m [%p] %b|%u|%d|%a|';

# Before it may be blanks, where a session prints its contexts at the same time.
my $entry = qr/^ *(\d{4}-\S+ \S+) \S+ \[(\d+)\] ([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([A-Z]+):  (.*)/;
my $addition = qr/^(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION|BACKTRACE)$/;

# Follows the files of a directory, and the one that is written before the logger runs.  "heed" is
# called with each entry: a hash with pid, type, user, database, application, level, text, more
# (its detail, hint and the like), and the time at which it was read.
sub new
{
	my ($class, $directory, $first, $heed) = @_;

	return bless { directory => $directory, first => $first, heed => $heed, at => {}, rest => {}, lines => 0 }, $class;
}

# Read what was written since the last time.
sub read
{
	my ($self) = @_;
	my @files = sort { (stat $a)[9] <=> (stat $b)[9] || $a cmp $b } grep { -f } $self->{first}, glob("$self->{directory}/*");

	$self->_read_file($_) for @files;
	return;
}

# A file may have been renamed: it is known by its inode.
sub _read_file
{
	my ($self, $path) = @_;
	my $inode = (stat $path)[1] // return;
	my $at = $self->{at}{$inode} // 0;

	return if -s $path <= $at;
	open my $file, '<', $path or return;
	seek $file, $at, 0;
	local $/ = undef;
	my $text = ($self->{rest}{$inode} // '') . <$file>;
	$self->{at}{$inode} = tell $file;
	# an entry may be followed by its detail in a moment
	my $whole = rindex($text, "\n") + 1;
	$self->{rest}{$inode} = substr $text, $whole;
	$self->_heed_lines($inode, substr($text, 0, $whole));
	return;
}

# Entries of several processes may alternate: what follows one is of the same process.
sub _heed_lines
{
	my ($self, $inode, $text) = @_;
	my $last;

	for my $line (split /\n/, $text)
	{
		$self->{lines}++;
		if ($line =~ /^\t/)
		{
			$last->{more} .= " $'" if $last;
			next;
		}
		my ($at, $pid, $type, $user, $database, $application, $level, $words) = $line =~ $entry;
		if (!$level)
		{
			$self->_finish($_) for values %{ $self->{open} };
			$self->{heed}->({ level => 'NONE', text => $line, more => '', pid => 0, type => '', user => '', database => '', application => '', at => '', read_at => now() });
			$last = undef;
			next;
		}
		if ($level =~ $addition)
		{
			$last = $self->{open}{$pid};
			$last->{more} .= " $level: $words" if $last;
			next;
		}
		$self->_finish($self->{open}{$pid}) if $self->{open}{$pid};
		$last = $self->{open}{$pid} = {
			at => $at, pid => $pid, type => $type, user => $user, database => $database,
			application => $application, level => $level, text => $words, more => '', read_at => now() };
	}
	return;
}

sub _finish
{
	my ($self, $one) = @_;

	delete $self->{open}{ $one->{pid} };
	$self->{heed}->($one);
	return;
}

# Heed the entries that nothing has followed for a second, or all.
sub settle
{
	my ($self, $all) = @_;

	for my $one (sort { $a->{read_at} <=> $b->{read_at} } values %{ $self->{open} })
	{
		$self->_finish($one) if $all || now() - $one->{read_at} > 1;
	}
	return;
}

sub lines
{
	my ($self) = @_;

	return $self->{lines};
}

# By a clock that does not jump.
sub now
{
	return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
}

1;
