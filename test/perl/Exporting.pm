# Runs pg_leakhunt_export, and the HTTP peers that it meets in tests.
package Exporting;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  run_export start_export start_service start_peer stop_program connect_to exchange replay
  status_of threads_of files_of
);

my $peer_program = "$FindBin::RealBin/../exporter/peer.py";
my $logs = PostgreSQL::Test::Utils::tempdir;
my $number = 0;

# Our environment with these variables, but without the name that tests give to sessions.
sub environment_of
{
	my ($more) = @_;
	my %environment = (%ENV, %$more);

	delete $environment{PGAPPNAME};
	return %environment;
}

# Run the program to its end, with these variables in its environment; returns its
# status and what it says.
sub run_export
{
	my ($environment, @arguments) = @_;
	local %ENV = environment_of($environment);
	my $stderr = '';

	IPC::Run::run([ 'pg_leakhunt_export', @arguments ], '<', '/dev/null', '>', '/dev/null', '2>', \$stderr,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return ($? >> 8, $stderr);
}

# How many files a program that is started may open; undef for our own limit.
our $file_limit;

# Start a program, with a file for what it says.
sub start_program
{
	my (@command) = @_;
	@command = ('sh', '-c', 'ulimit -n "$0" && exec "$@"', $file_limit, @command) if defined $file_limit;
	my $log = "$logs/program." . $number++;
	my $run = IPC::Run::start(\@command, '<', '/dev/null', '>', $log, '2>&1');

	return { run => $run, log => $log, pid => $run->{KIDS}[0]{PID} };
}

# Start the program, which goes on.
sub start_export
{
	my ($environment, @arguments) = @_;
	local %ENV = environment_of($environment);

	return start_program('pg_leakhunt_export', @arguments);
}

# Wait until a program has told where it listens, and note that.
sub find_port
{
	my ($program, $pattern) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		if (slurp_file($program->{log}) =~ $pattern)
		{
			$program->{url} = "http://127.0.0.1:$1";
			return $program;
		}
		select(undef, undef, undef, 0.1);
	}
	die 'no port: ' . slurp_file($program->{log});
}

# Start a service, at a port of its choice.
sub start_service
{
	my ($environment, @arguments) = @_;

	return find_port(start_export($environment, 'serve', @arguments, 0), qr/port (\d+)$/m);
}

# Start a peer that writes requests to files, and behaves so; see there.
sub start_peer
{
	my ($record, @behaviours) = @_;

	return find_port(start_program($peer_program, $record, @behaviours), qr/^(\d+)$/m);
}

# End a program; returns its status, or "signal N".
sub stop_program
{
	my ($program) = @_;

	$program->{run}->signal('TERM');
	eval { $program->{run}->finish };
	return $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
}

# Connect to a program; undef if it does not accept in time.
sub connect_to
{
	my ($program) = @_;
	my ($port) = $program->{url} =~ /(\d+)$/;

	return IO::Socket::INET->new(PeerHost => '127.0.0.1', PeerPort => $port, Timeout => $PostgreSQL::Test::Utils::timeout_default);
}

# Send a request over a connection, which stays; returns head and body of the answer,
# as far as they come in time.
sub exchange
{
	my ($socket, $request) = @_;
	my $answer = '';

	local $SIG{PIPE} = 'IGNORE';
	local $SIG{ALRM} = sub { die "no answer\n" };
	eval
	{
		alarm($PostgreSQL::Test::Utils::timeout_default);
		syswrite($socket, $request);
		while ($answer !~ /^(.*?\r\n\r\n)/s || length($answer) < length($1) + ($1 =~ /^Content-Length: (\d+)/mi ? $1 : 0))
		{
			sysread($socket, $answer, 65536, length $answer) or last;
		}
		alarm(0);
		1;
	} or alarm(0);
	return split /(?<=\r\n)\r\n/, $answer, 2;
}

# Send a recorded request as it is; returns head and body of the answer.
sub replay
{
	my ($program, $file) = @_;
	my $socket = connect_to($program) or die "connect: $!";

	return exchange($socket, slurp_file($file));
}

# A number in the status of a program, as the system knows it.
sub status_of
{
	my ($program, $name) = @_;

	return slurp_file("/proc/$program->{pid}/status") =~ /^\Q$name\E:\s+(\d+)/m ? $1 : die;
}

sub threads_of { return status_of($_[0], 'Threads') }

# How many files a program has open.
sub files_of
{
	my ($program) = @_;

	return scalar(() = glob("/proc/$program->{pid}/fd/*"));
}

1;
