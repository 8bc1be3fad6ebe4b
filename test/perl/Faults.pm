# Lets system calls of pg_leakhunt fail in a server that runs, counts them, or lets them
# stand still, and lets its clock jump.
#
# The server must be started with environment(); test/faults/faults.c, which it
# preloads then, says what counts as a call of pg_leakhunt.
package Faults;

use strict;
use warnings;

use Errno ();
use Fcntl;
use File::Basename;
use FindBin;

# Offsets in the file, and the errno that is none; as in faults.c.  No call fails
# if one in NEVER of them is to.
use constant {
	EVERY => 28,
	COUNTS => 32,
	CLOCK => 40,
	BYTES => 56,
	HALFWAY => -1,
	HELD => -2,
	NEVER => 0xFFFFFFFF,
};

# Without a fault.  The file has this name behind that of the test, as tests run side by
# side: one that is there already would be another test's, and is an error.
sub new
{
	my ($class, $name) = @_;
	my $path = "$ENV{TESTDATADIR}/" . basename($0, '.pl') . "_$name";

	sysopen my $file, $path, O_RDWR | O_CREAT | O_EXCL or die "$path: $!";
	my $self = bless { path => $path, file => $file }, $class;
	$self->_write(0, "\0" x BYTES);
	return $self;
}

# What the server's environment must have.
sub environment
{
	my ($self) = @_;

	return (
		LD_PRELOAD => "$FindBin::RealBin/../faults/faults.so",
		FAULTS_FILE => $self->{path});
}

sub _write
{
	my ($self, $offset, $bytes) = @_;

	sysseek($self->{file}, $offset, 0) or die $!;
	syswrite($self->{file}, $bytes) == length $bytes or die $!;
	return;
}

sub _read
{
	my ($self, $offset, $length) = @_;

	sysseek($self->{file}, $offset, 0) or die $!;
	sysread($self->{file}, my $bytes, $length) == $length or die $!;
	return $bytes;
}

# From now on one in "every" calls of the function, or of several whose names have blanks
# between them, fails: with the errno of that name, or, as "HALFWAY", by transferring a
# part only.  With a pid, calls of other processes neither fail nor count.
sub set
{
	my ($self, $function, $failure, $every, $pid) = @_;
	my $clock = $self->_read(CLOCK, 8);

	# in one piece: a process that stands still must not go on before this holds
	return $self->_write(0, pack('a24 l L L2 a8 l', $function, $self->_number($failure), $every, 0, 0, $clock, $pid // 0));
}

sub _number
{
	my ($self, $failure) = @_;

	return $self->$failure if $failure =~ /^(?:HALFWAY|HELD)$/;
	return Errno->can($failure)->();
}

# From now on the process stands still when it calls the function, until clear(), or
# until another function is set; calls() says whether it does.  Then it goes on as if
# nothing had been.
sub hold
{
	my ($self, $function, $pid) = @_;

	return $self->set($function, 'HELD', 1, $pid);
}

# Nothing fails any more.
sub clear
{
	my ($self) = @_;

	return $self->_write(EVERY, pack('L', 0));
}

# From now on the calls of the function are counted, with a pid those of that process, and
# none fails.
sub count
{
	my ($self, $function, $pid) = @_;

	return $self->set($function, 'EIO', NEVER, $pid);
}

# Numbers of calls since set() or count(): all, and those that have failed.
sub _counts
{
	my ($self) = @_;

	return unpack('L2', $self->_read(COUNTS, 8));
}

sub calls
{
	my ($self) = @_;

	return ($self->_counts)[0];
}

sub failed
{
	my ($self) = @_;

	return ($self->_counts)[1];
}

# Set the server's clock a number of seconds ahead of the true one.
sub set_clock
{
	my ($self, $seconds) = @_;

	return $self->_write(CLOCK, pack('q', $seconds));
}

1;
