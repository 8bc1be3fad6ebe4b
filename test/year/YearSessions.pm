# The sessions of a year: clients that are started at a steady rate, and what becomes of them.
package YearSessions;

use strict;
use warnings;

use POSIX ':sys_wait_h';
use PostgreSQL::Test::Utils;
use YearLog;
use YearWork;

# More are not started at a time.
use constant MOST => 45;

# "faults" is a list to which faults are added.
sub new
{
	my ($class, $server, $folder, $faults) = @_;
	my $self = bless { server => $server, folder => $folder, faults => $faults, clients => {}, number => 0, asked => 0, slowest => 0, plants => [] }, $class;

	mkdir $folder;
	$self->_write_scripts;
	$self->{lots} = [ map { ($_) x $YearWork::kinds{$_}{share} } sort keys %YearWork::kinds ];
	return $self;
}

sub _write_scripts
{
	my ($self) = @_;

	for my $kind (keys %YearWork::kinds)
	{
		append_to_file("$self->{folder}/_$kind.sql", $YearWork::kinds{$kind}{sql} =~ s/\\i /\\i $ENV{TESTDIR}\/test\/workload\//r)
		  if $YearWork::kinds{$kind}{sql};
	}
	append_to_file("$self->{folder}/_plant_$_.sql", YearWork::plant($_)) for keys %YearWork::plants;
	return;
}

sub number
{
	my ($self) = @_;

	return scalar keys %{ $self->{clients} };
}

# A client as a child of this process; its output is a file.
sub _start
{
	my ($self, $client, @command) = @_;
	my $node = $self->{server}->node;

	$client->{output} = "$self->{folder}/" . ++$self->{number};
	$client->{began} = YearLog::now();
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', $client->{output};
		open STDERR, '>', "$client->{output}.err";
		@ENV{qw(PGHOST PGPORT PGDATABASE PGUSER PGAPPNAME)} =
		  ($node->host, $node->port, $client->{database} // 'postgres', $client->{role} // 'dba', $client->{application} // $client->{kind});
		exec @command or POSIX::_exit(1);
	}
	$self->{clients}{$pid} = $client;
	return $client;
}

# A session of a kind that is drawn.
sub draw
{
	my ($self) = @_;
	my $kind = $self->{lots}[ rand @{ $self->{lots} } ];
	my $row = $YearWork::kinds{$kind};

	return if $self->number >= MOST;
	return $self->_start({ kind => $kind, role => $row->{role}, database => $row->{database} },
		$row->{run} ? @{ $row->{run} } : ('psql', '-X', '-q', '-f', "$self->{folder}/_$kind.sql"));
}

sub run
{
	my ($self, $application, %what) = @_;

	return $self->_start({ kind => $application, %what }, @{ $what{command} });
}

# A leak that is planted.
sub plant
{
	my ($self, $name, %how) = @_;
	my $client = $self->_start({ kind => 'plant', plant => $name, role => 'app', application => $how{application} // 'plant', %how },
		'psql', '-X', '-q', '-f', "$self->{folder}/_plant_$name.sql");

	push @{ $self->{plants} }, $client;
	return $client;
}

# Ask the next view; one question at a time.
sub ask_next
{
	my ($self) = @_;
	my $question = $YearWork::questions[ $self->{asked} % @YearWork::questions ];
	my $role = int($self->{asked} / @YearWork::questions) % 3 == 2 && $question ne $YearWork::questions[-1] ? 'app' : 'dba';

	return if grep { $_->{question} } values %{ $self->{clients} };
	$self->{asked}++;
	return $self->_start({ kind => 'reader', role => $role, question => $question, may_fail => !$self->{server}{up} },
		'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-c', "SET statement_timeout = '60s'; SET client_min_messages = warning", '-c', $question);
}

# Heed the clients that have ended.
sub reap
{
	my ($self) = @_;

	for my $pid (keys %{ $self->{clients} })
	{
		next if waitpid($pid, WNOHANG) != $pid;
		my $client = delete $self->{clients}{$pid};
		$client->{status} = $?;
		$self->_heed($client);
		unlink $client->{output}, "$client->{output}.err";
	}
	return;
}

sub _heed
{
	my ($self, $client) = @_;

	$client->{took} = YearLog::now() - $client->{began};
	if ($client->{question})
	{
		$self->_heed_answer($client);
	}
	elsif ($client->{plant})
	{
		$client->{ended} = YearLog::now();
		$client->{said} = slurp_file($client->{output});
		($client->{pid}) = $client->{said} =~ /^(\d+)$/m;
	}
	return;
}

# A question has an answer and no complaint, unless the server went down, or a disk was full.
sub _heed_answer
{
	my ($self, $client) = @_;
	my $complaint = slurp_file("$client->{output}.err");

	$self->{slowest} = $client->{took} if $client->{took} > $self->{slowest};
	return if $complaint eq '' && $client->{status} == 0;
	return if $complaint =~ /server closed the connection|terminating connection|starting up|shutting down|in recovery mode|No such file or directory.*Is the server running|Connection refused|connection to server was lost|not yet accepting/s;
	return if $complaint =~ /^ERROR:  no process has a profile$/m;
	# what was chosen has gone meanwhile
	return if $client->{question} =~ /LIMIT 1/ && $complaint =~ /^(?:WARNING:  PID \d+ is not a PostgreSQL server process|ERROR:  (?:could not open|could not read|there is no) .*(?:No such file or directory)?)$/m;
	# a role that sees few processes
	return if $client->{question} =~ /'all'/ && $complaint =~ /^WARNING:  no process has a profile$/m;
	return if $self->{server}->may('extension is dropped') && $complaint =~ /relation "pg_leakhunt_\w+" does not exist|function pg_leakhunt_\w+\(.*\) does not exist/;
	push @{ $self->{faults} }, "\"$client->{question}\" as $client->{role}: status $client->{status}, $complaint";
	return;
}

# Those that are running end.
sub wait_for_all
{
	my ($self) = @_;

	$self->{server}->wait_for(sub { $self->reap; !$self->number }, 'all clients have ended');
	return;
}

1;
