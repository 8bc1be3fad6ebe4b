# The server of a year: how it is started and stopped, killed and given a new library; and which
# of its processes the test itself has ended.
package YearServer;

use strict;
use warnings;

use Faults;
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Time::HiRes;
use YearLog;

my $conf = <<"CONF";
fsync = off
max_connections = 120
max_worker_processes = 20
max_parallel_workers = 8
max_replication_slots = 10
max_wal_senders = 10
wal_level = logical
max_wal_size = 64MB
shared_buffers = 16MB
restart_after_crash = on
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 20
log_autovacuum_min_duration = -1
log_checkpoints = off
log_statement = none
log_replication_commands = off
log_connections = on
log_lock_waits = on
logging_collector = on
log_directory = log
log_filename = 'year-%Y%m%d-%H%M%S.log'
log_line_prefix = '$YearLog::prefix'
CONF

# How the module is set where nothing else is tried: its keeper does all ten times as often, and
# small sessions leave dumps.
our %usual = (
	'pg_leakhunt.keeper_interval' => '1s',
	'pg_leakhunt.sample_interval' => '32kB',
	'pg_leakhunt.dump_min_bytes' => '2MB',
	'pg_leakhunt.dump_min_peak' => '64MB',
	'pg_leakhunt.dump_growth' => '32MB',
	'pg_leakhunt.dump_keep' => '20',
	'pg_leakhunt.dump_max_size' => '8MB',
	'pg_leakhunt.forecast_warning' => '0',
	'pg_leakhunt.statement_min_bytes' => '64kB',
	'pg_leakhunt.proof_max_memory' => '1GB');
my $fixed = "pg_leakhunt.max_profile_size = 1MB\n";

# A server whose dumps are on the small disk.
sub new
{
	my ($class) = @_;
	my $self = bless { faults => Faults->new('faults'), ended => {}, starts => 0, resets => [], event => '' }, $class;
	my $node = PostgreSQL::Test::Cluster->new('main');

	$self->know_limits;

	$self->{node} = $node;
	$self->{disk} = $ENV{SMALL_DISK} // PostgreSQL::Test::Utils::tempdir();
	$self->{dumps} = "$self->{disk}/dumps";
	$node->init;
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'pg_leakhunt'\n$conf${fixed}pg_leakhunt.dump_directory = '$self->{dumps}'\n"
		. join '', map { "$_ = '$usual{$_}'\n" } sort keys %usual);
	$self->start;
	return $self;
}

sub node
{
	my ($self) = @_;

	return $self->{node};
}

sub start
{
	my ($self) = @_;

	local %ENV = (%ENV, $self->{faults}->environment);
	$self->set_clock(0);
	$self->{node}->start;
	$self->{starts}++;
	($self->{postmaster}) = split /\n/, slurp_file($self->{node}->data_dir . '/postmaster.pid');
	$self->{up} = 1;
	return;
}

# Stop it; all that its processes say by that is meant.
sub stop
{
	my ($self, $mode) = @_;

	$self->{up} = 0;
	$self->let('all end');
	$self->{node}->stop($mode);
	$self->no_more('all end');
	return;
}

sub kill_postmaster
{
	my ($self) = @_;
	my @children = $self->children;

	$self->{up} = 0;
	$self->let('all end');
	$self->{node}->kill9;
	$self->wait_for(sub { !grep { -e "/proc/$_" } $self->{postmaster}, @children }, 'a killed postmaster and its children are gone');
	$self->no_more('all end');
	return;
}

# What may happen from now on: a disk is full, sessions reach limits, and so on.
sub let
{
	my ($self, $what) = @_;

	push @{ $self->{times}{$what} }, [ YearLog::now(), 9**9**9 ];
	return;
}

# It ends in some seconds, as the log is read later: not while a server starts.
use constant LATE => 20;
sub no_more
{
	my ($self, $what) = @_;

	$self->{times}{$what}[-1][1] = YearLog::now() + LATE;
	return;
}

sub may
{
	my ($self, $what) = @_;
	my $now = YearLog::now();

	return scalar grep { $now < $_->[1] } @{ $self->{times}{$what} // [] };
}

# Could that happen while a client ran?
sub was
{
	my ($self, $what, $client) = @_;

	return scalar grep { $client->{began} < $_->[1] && $client->{ended} > $_->[0] } @{ $self->{times}{$what} // [] };
}

# Something may keep the log from telling what it tells else.
sub disturb
{
	my ($self) = @_;

	push @{ $self->{disturbances} }, YearLog::now();
	return;
}

sub was_disturbed
{
	my ($self, $client) = @_;

	return scalar grep { $client->{began} <= $_ && $_ <= $client->{ended} } @{ $self->{disturbances} // [] };
}

# Lines of the log are counted anew, and a keeper may have a successor who tells everything again.
sub reset
{
	my ($self) = @_;

	push @{ $self->{resets} }, YearLog::now();
	return;
}

sub had_new_keeper
{
	my ($self, $from, $until) = @_;

	return scalar grep { $from - 5 <= $_ && $_ <= $until } @{ $self->{resets} };
}

# The bounds of dumps that hold from now on: the usual ones, but for these.
sub know_limits
{
	my ($self, %set) = @_;
	my %units = (kB => 1 << 10, MB => 1 << 20, GB => 1 << 30, '' => 1 << 10);

	for my $name (qw(pg_leakhunt.dump_keep pg_leakhunt.dump_max_size))
	{
		my ($number, $unit) = ($set{$name} // $usual{$name}) =~ /^(\d+)(.*)/;
		$self->{limits}{$name} = $name =~ /size/ ? $number * $units{$unit} : $number;
	}
	return;
}

# What is so for a minute is waited for.
sub wait_for
{
	my ($self, $condition, $what) = @_;
	my $end = YearLog::now() + $PostgreSQL::Test::Utils::timeout_default;

	until ($condition->())
	{
		die "not so in time: $what" if YearLog::now() > $end;
		Time::HiRes::sleep(0.05);
	}
	return;
}

# Until a server that has crashed lets sessions in again, which is known by its keeper.
sub wait_until_up
{
	my ($self, $killed) = @_;

	$self->wait_for(sub { !-e "/proc/$killed" }, "process $killed has died") if $killed;
	$self->wait_for(sub { ($self->try_to_ask('SELECT 1', 1))[1] eq '1' }, 'the server is up again');
	return;
}

# Exit status, output and messages of a question, by a session of its own.
sub try_to_ask
{
	my ($self, $query, $quick, %as) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGAPPNAME} = 'asks';
	local $ENV{PGUSER} = $as{role} if $as{role};

	IPC::Run::run([ 'psql', '-XAtq', '-d', $self->{node}->connstr($as{database} // 'postgres'), '-v', 'ON_ERROR_STOP=1', '-c', $query ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	chomp $out;
	die "\"$query\": $err" if $? && !$quick;
	return ($? >> 8, $out, $err);
}

sub answer
{
	my ($self, $query, %as) = @_;

	return ($self->try_to_ask($query, 0, %as))[1];
}

# The parent of a process and its title; nothing if it is gone.
sub process
{
	my ($pid) = @_;
	my ($parent) = (eval { slurp_file("/proc/$pid/stat") } // '') =~ /\) [A-Y] (\d+)/ or return;
	my $title = eval { slurp_file("/proc/$pid/cmdline") } // '';

	return ($parent, $title =~ tr/\0/ /r);
}

# Pids of the postmaster's children whose title matches.
sub children
{
	my ($self, $wanted) = @_;
	my @children;

	for my $pid (map { m{(\d+)$} } glob('/proc/[0-9]*'))
	{
		my ($parent, $title) = process($pid) or next;
		push @children, $pid if $parent == $self->{postmaster} && (!$wanted || $title =~ $wanted);
	}
	return @children;
}

sub keeper
{
	my ($self) = @_;

	return ($self->children(qr/pg_leakhunt keeper/))[0];
}

# End a process by a signal, and note that.
sub strike
{
	my ($self, $pid, $signal) = @_;

	$self->{ended}{$pid} = $signal;
	return kill $signal, $pid;
}

sub has_ended
{
	my ($self, $pid) = @_;

	return $self->{ended}{$pid};
}

# A session that is cancelled may fail in what it does after that, too.
sub note_disturbed
{
	my ($self, $pid) = @_;

	$self->{disturbed}{$pid} = 1;
	return;
}

# Cancel what sleeps by the server's clock.
sub wake_sleepers
{
	my ($self) = @_;

	for my $pid (split /\n/, $self->answer(q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'}))
	{
		$self->note_disturbed($pid);
		$self->answer("SELECT pg_cancel_backend($pid)");
	}
	return;
}

sub was_cancelled
{
	my ($self, $pid) = @_;

	return $self->{disturbed}{$pid};
}

# Settings for the next reload, which all of its processes have heeded soon after.
sub set
{
	my ($self, %settings) = @_;
	my @each = map { "ALTER SYSTEM SET $_ = '$settings{$_}';" } sort keys %settings;

	for my $statement (@each)
	{
		my ($status, $out, $err) = $self->try_to_ask($statement, 1);
		die "$statement: $err" if $status;
	}
	$self->answer('SELECT pg_reload_conf()');
	return;
}

# Seconds by which the server's clock is ahead of the true one.
sub set_clock
{
	my ($self, $seconds) = @_;

	$self->{faults}->set_clock($seconds);
	$self->{clock} = $seconds;
	return;
}

# A new build beside the library that runs, renamed over it: the same code with another build id.
sub replace_library
{
	my ($self) = @_;
	my $library = qx($ENV{PG_CONFIG} --pkglibdir) =~ s/\n//r . '/pg_leakhunt.so';
	my $content = slurp_file($library);
	my ($id) = qx(readelf -n '$library') =~ /Build ID: ([0-9a-f]+)/ or die "no build id in $library";
	my $bytes = pack 'H*', $id;
	my $place = index $content, $bytes;

	substr($content, $place, 4) = pack 'L', rand(2**32);
	open my $new, '>:raw', "$library.new" or die "$library.new: $!";
	print $new $content;
	close $new or die $!;
	chmod 0755, "$library.new";
	rename "$library.new", $library or die $!;
	return;
}

1;
