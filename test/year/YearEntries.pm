# What the log of a year may say: each entry must be expected; those of pg_leakhunt are counted, and
# compared with what was planted.
package YearEntries;

use strict;
use warnings;

use YearLog;
use YearWork;

# What sessions say that make mistakes, each by its application.
my %mistakes = (
	errors => qr/^(?:division by zero|syntax error at or near "SELEKT"|relation "no_such_table" does not exist|duplicate key value violates|current transaction is aborted|requested length too large)/,
	mistaken => qr/^role "nobody_by_that_name" does not exist/,
	astray => qr/^database "no_such_database" does not exist/,
	locked => qr/^role "locked_out" is not permitted to log in/,
	limited => qr/^(?:out of memory|terminating connection)/,
	decoding => qr/^(?:canceling statement|could not receive data from client|unexpected EOF)/,
	# what is looked for may have gone
	asks => qr/^PID \d+ is not a PostgreSQL (?:backend|server) process/,
	# and may have kept too little to be seen
	reader => qr/^(?:PID \d+ is not a PostgreSQL server process|no process has a profile)/,
	requester => qr/^(?:PID \d+ (?:is not a PostgreSQL server process|has not loaded pg_leakhunt)|process \d+ (?:may not notice|has no|cannot be asked)|there is no profile|timed out|process \d+)/);

# What any session may say as the server stops or crashes, or as others end it; and what it says where
# two sessions do the same.
my $ended = qr/^(?:terminating (?:connection|background worker|walsender|logical replication|autovacuum)|canceling (?:statement due to user request|autovacuum task)|the database system is|connection to client lost|postmaster exited|sorry, too many clients|could not (?:send|receive) data|unexpected EOF|parallel worker failed|lost connection to parallel worker|canceling statement due to statement timeout)/;

my $full = qr/No space left on device/;

sub new
{
	my ($class, $server, $faults) = @_;

	return bless { server => $server, faults => $faults, findings => [], exits => {}, count => {} }, $class;
}

sub count
{
	my ($self, $what) = @_;

	return $self->{count}{$what} // 0;
}

sub _fault
{
	my ($self, $why, $one) = @_;

	push @{ $self->{faults} }, "$why: [$one->{pid}] $one->{type} $one->{user}\@$one->{database} $one->{application} $one->{level}: $one->{text}$one->{more}";
	return;
}

# One entry of the log.
sub heed
{
	my ($self, $one) = @_;

	$self->{count}{entries}++;
	$self->{count}{sessions}++ if $one->{text} =~ /^connection authorized|^replication connection authorized/;
	return if $self->_is_of_pg_leakhunt($one) || $self->_is_of_death($one);
	return if $one->{level} =~ /^(?:LOG|NOTICE|INFO)$/ && $one->{text} !~ /leakhunt/;
	return if $one->{level} eq 'LOG' && $one->{text} =~ /^parameter "pg_leakhunt\.\w+" (?:changed to|removed from configuration file)/;
	return if $one->{level} eq 'NONE' && $self->_is_of_statistics($one->{text});
	return if $one->{level} =~ /^(?:ERROR|FATAL|WARNING)$/ && $self->_is_meant($one);
	$self->_fault('not expected', $one);
	return;
}

# A session that gets no memory prints its contexts, as it does at a limit; in pieces, if others
# write at the same time.
sub _is_of_statistics
{
	my ($self, $text) = @_;

	return $self->{server}->may('limits') && $text !~ /TRAP|PANIC/;
}

sub _is_meant
{
	my ($self, $one) = @_;
	my $mistake = $mistakes{ $one->{application} };

	return 1 if $mistake && $one->{text} =~ $mistake;
	return 1 if $one->{level} eq 'ERROR' && $self->{server}->was_cancelled($one->{pid});
	return 1 if $one->{text} =~ $ended;
	# one that has no name yet
	return 1 if $one->{level} eq 'FATAL' && grep { $one->{text} =~ $mistakes{$_} } qw(mistaken astray locked);
	return 1 if $one->{text} =~ /^database "guest\d+" does not exist|^role "guest\d+" does not exist/;
	# a database that was dropped again
	return 1 if $one->{type} eq 'startup' && $one->{level} eq 'WARNING' && $one->{text} =~ /base\/\d+/;
	return 1 if $one->{text} =~ $full && $self->{server}->may('disk is full');
	return 1 if $one->{text} =~ $full && $one->{text} =~ /shared memory/ && $self->{server}->may('shm is full');
	return 1 if $self->{server}->may('extension is dropped') && $one->{text} =~ /pg_leakhunt\w*.* does not exist/;
	return 0;
}

# A process that has ended by a signal is one that the test has ended; as a server goes down, others
# exit with a code, or are killed by a postmaster that does not wait any longer.
sub _is_of_death
{
	my ($self, $one) = @_;
	my ($pid, $how) = $one->{text} =~ /\(PID (\d+)\) (was terminated by signal \d+|exited with exit code [1-9]\d*)/ or return 0;

	# a worker of a statement that is cancelled goes with it
	return 1 if $one->{text} =~ /^background worker "parallel worker".* exited with exit code 1$/;
	$self->{count}{deaths}++;
	my $goes_with_all = $self->{server}->may('all end') && $how =~ /^exited|signal 9$/;
	$self->_fault('a process has died', $one) if !$self->{server}->has_ended($pid) && !$goes_with_all;
	return 1;
}

# What a line of pg_leakhunt is about.
my @kinds = (
	[ finding => qr/^process \d+ (?:leaks memory|has lost memory|keeps|holds|runs a statement|maps)/ ],
	[ exit => qr/^leak approximation summary/ ],
	[ crash => qr/^process \d+ \([^)]*\) crashed, / ],
	[ saved => qr/^profile of process \d+, which did not exit cleanly, saved as|^removed \d+ profiles? \(/ ],
	[ forecast => qr/^at this rate the kernel kills a process/ ],
	[ limit => qr/^process \d+ has reached pg_leakhunt\.process_memory_limit|^the server has reached pg_leakhunt\.server_memory_limit/ ],
	[ unpublished => qr/^could not publish the profile of process/ ],
	[ full => qr/^could not (?:write|create|remove).*pg_leakhunt|^could not write (?:dump|what)/ ]);

sub _is_of_pg_leakhunt
{
	my ($self, $one) = @_;
	my ($kind) = grep { $one->{text} =~ $_->[1] } @kinds or return 0;
	my $name = $kind->[0];

	$self->{count}{ours}++;
	$self->{count}{$name}++;
	$self->can("_heed_$name") ? $self->can("_heed_$name")->($self, $one) : return 1;
	return 1;
}

sub _heed_finding
{
	my ($self, $one) = @_;
	my ($pid) = $one->{text} =~ /^process (\d+)/;
	my ($application) = $one->{more} =~ /application "([^"]*)"/;

	push @{ $self->{findings} }, { %$one, of => $pid, application => $application // '' };
	return;
}

sub _heed_exit
{
	my ($self, $one) = @_;

	push @{ $self->{exits}{ $one->{user} } }, $one->{read_at};
	return;
}

sub _heed_limit
{
	my ($self, $one) = @_;

	$self->_fault('no limit is set', $one) if !$self->{server}->may('limits');
	return;
}

sub _heed_unpublished
{
	my ($self, $one) = @_;

	$self->_fault('there is room', $one) if !$self->{server}->may('shm is full');
	return;
}

sub _heed_full
{
	my ($self, $one) = @_;

	$self->_fault('there is room', $one) if !$self->{server}->may('disk is full') && !$self->{server}->may('shm is full');
	return;
}

sub _heed_crash
{
	my ($self, $one) = @_;
	my ($pid) = $one->{text} =~ /^process (\d+)/;

	$self->_fault('nobody has ended it', $one) if !$self->{server}->has_ended($pid);
	return;
}

# More in a minute than ten: a minute begins with the first of them, so that the end of one and the
# beginning of the next may have twenty.
sub _most_in_a_minute
{
	my (@times) = @_;
	my ($most, $first) = (0, 0);

	for my $last (0 .. $#times)
	{
		$first++ while $times[$last] - $times[$first] >= 59;
		$most = $last - $first + 1 if $last - $first + 1 > $most;
	}
	return $most;
}

# The most lines in a minute between two moments at which counts begin anew.
sub _most
{
	my ($self, @times) = @_;
	my @resets = (@{ $self->{server}{resets} }, 9**9**9);
	my $most = 0;

	for my $reset (@resets)
	{
		my @before = grep { $_ < $reset } @times;
		my $found = _most_in_a_minute(@before);

		$most = $found if $found > $most;
		@times = grep { $_ >= $reset } @times;
	}
	return $most;
}

sub most_findings
{
	my ($self) = @_;

	return $self->_most(map { $_->{read_at} } @{ $self->{findings} });
}

sub most_exits
{
	my ($self) = @_;
	my ($most) = sort { $b <=> $a } 0, map { $self->_most(@$_) } values %{ $self->{exits} };

	return $most;
}

# The bytes that a finding is about, as its line has them.
sub _bytes
{
	my ($text) = @_;
	my ($number, $unit) = $text =~ /: (\d+) (bytes|kB|MB|GB)/ or return 0;

	return $number * { bytes => 1, kB => 1024, MB => 1024**2, GB => 1024**3 }->{$unit};
}

# Were there ten findings in a minute, so that the one on a plant may have been left out?
sub _has_no_turn
{
	my ($self, $plant) = @_;
	my @times = map { $_->{read_at} } grep { $_->{read_at} > $plant->{began} - 61 && $_->{read_at} < $plant->{ended} } @{ $self->{findings} };

	return _most_in_a_minute(@times) >= 10;
}

# What is wrong with the lines on a plant: none, where nothing disturbed it; one of another place; or
# more than one, unless the keeper has a successor, or it has become four times as large.  Of that the
# lines show twice, as a line may be written seconds after the keeper has decided on it.
sub problems_of_plant
{
	my ($self, $plant) = @_;
	my $row = $YearWork::plants{ $plant->{plant} };
	my @lines = grep { $_->{of} == $plant->{pid} && $_->{read_at} > $plant->{began} && $_->{read_at} < $plant->{ended} + 10 } @{ $self->{findings} };
	my @problems;

	$_->{plant} = $plant for @lines;
	my $name = "plant $plant->{plant}, process $plant->{pid}";
	push @problems, map { "$name is told elsewhere: $_->{text}" } grep { !$row->{place} || $_->{text} !~ $row->{place} } @lines
	  if !$self->{server}->was('extension is dropped', $plant);
	push @problems, "$name is not told" if $row->{place} && !@lines && $plant->{must} && !$self->_has_no_turn($plant);
	for my $i (1 .. $#lines)
	{
		my ($former, $later) = @lines[ $i - 1, $i ];

		push @problems, "$name is told again: $former->{text}; $later->{text}"
		  if _bytes($later->{text}) < 2 * _bytes($former->{text}) && !$self->{server}->had_new_keeper($former->{read_at}, $later->{read_at});
	}
	return @problems;
}

# Lines on what nobody has planted, once those of all plants were looked for.
sub false_findings
{
	my ($self) = @_;

	return map { "$_->{text}$_->{more}" } grep { !$_->{plant} && $_->{application} !~ /^(?:limited|storm)$/ } @{ $self->{findings} };
}

1;
