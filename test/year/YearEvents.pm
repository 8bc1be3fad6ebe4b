# What befalls the server of a year.  Each event takes some seconds, in which sessions go on.
package YearEvents;

use strict;
use warnings;

use List::Util 'shuffle';
use PostgreSQL::Test::Utils;
use YearLog;
use YearServer;

# "goes" restarts the server, or its keeper, and has no place in the part of the year without
# restarts.  "calm" ones change nothing of what is logged.
our %events = (
	restart => { goes => 1, do => sub { $_[0]->_restart('fast') } },
	immediate => { goes => 1, do => sub { $_[0]->_restart('immediate') } },
	upgrade => { goes => 1, do => \&_upgrade },
	kill_backend => { goes => 1, do => sub { $_[0]->_kill('KILL', qr/\[local\]/) } },
	segv_backend => { goes => 1, do => sub { $_[0]->_kill('SEGV', qr/\[local\]/) } },
	abort_worker => { goes => 1, do => sub { $_[0]->_kill('ABRT', qr/checkpointer|writer|launcher/) } },
	kill_keeper => { goes => 1, do => sub { $_[0]->_kill('KILL', qr/pg_leakhunt keeper/) } },
	end_keeper => { goes => 1, do => \&_end_keeper },
	kill_postmaster => { goes => 1, do => \&_kill_postmaster },
	settings => { do => \&_change_settings },
	limits => { do => \&_limits },
	full_dumps => { do => \&_fill_dumps },
	full_shm => { do => \&_fill_shm },
	extension => { do => \&_drop_extension },
	clock => { do => \&_jump_clock },
	reset => { do => \&_reset },
	exits => { calm => 1, do => \&_storm_of_exits },
	findings => { do => \&_storm_of_findings },
	rotation => { calm => 1, do => \&_rotate_log },
	guests => { calm => 1, do => \&_guests },
	decoding => { calm => 1, do => \&_decode },
	backup => { calm => 1, do => \&_back_up },
	standby => { calm => 1, do => \&_promote_standby });

# "pause" lets everything go on for some seconds, and "faults" is the list of faults.
sub new
{
	my ($class, %with) = @_;

	return bless { %with, done => {}, number => 0 }, $class;
}

# An event that is drawn, such that all come about as often; without those that are no choice now.
sub draw
{
	my ($self, $goes) = @_;
	my $deck = $self->{ $goes ? 'deck' : 'calm_deck' } //= [];

	@$deck = shuffle(sort grep { $goes || !$events{$_}{goes} } keys %events) if !@$deck;
	return shift @$deck;
}

sub run
{
	my ($self, $name) = @_;
	my $server = $self->{server};

	main::progress("event $name");
	$self->{done}{$name}++;
	$server->{event} = $events{$name}{calm} ? '' : $name;
	$server->disturb if $server->{event};
	$events{$name}{do}->($self);
	$server->disturb if $server->{event};
	$server->{event} = '';
	return;
}

sub _pause
{
	my ($self, $seconds) = @_;

	return $self->{pause}->($seconds);
}

# What must survive a restart: calls of statements, and sessions that were seen.
sub _records
{
	my ($self) = @_;
	my ($calls) = $self->{server}->answer('SELECT coalesce(sum(calls), 0) FROM pg_leakhunt_statements');
	my ($seen) = $self->{server}->answer('SELECT coalesce(sum(sessions_seen), 0) FROM pg_leakhunt_capacity()');

	return ($calls, $seen);
}

# Something that ends the server, and what the next one must still know.
sub _over
{
	my ($self, $end) = @_;
	my $server = $self->{server};
	my @before = $self->_records;

	$end->();
	$server->wait_until_up;
	$server->reset;
	my @after = $self->_records;
	# an entry that was being changed has one call less
	push @{ $self->{faults} }, "the records of statements and sessions do not survive $server->{event}: @before before, @after after"
	  if $after[0] < $before[0] - 5 || $after[1] < $before[1] - 5;
	$self->{records}++;
	$self->_pause(1);
	return;
}

sub _restart
{
	my ($self, $mode) = @_;
	my $server = $self->{server};

	return $self->_over(sub { $server->stop($mode); $self->{sessions}->reap; $server->{crashes} = $mode eq 'immediate'; $server->start });
}

# The new library is there while sessions begin with the old one.
sub _upgrade
{
	my ($self) = @_;

	$self->{server}->replace_library;
	$self->_pause(3);
	return $self->_restart('fast');
}

# A process of these is killed, and the server restarts by itself.
sub _kill
{
	my ($self, $signal, $which) = @_;
	my $server = $self->{server};
	my @those;

	$self->_pause(0.1) until @those = $server->children($which);
	my $pid = $those[ rand @those ];
	$server->{crashes}++;
	return $self->_over(
		sub {
			$server->let('all end');
			$server->strike($pid, $signal);
			$server->wait_until_up($pid);
			$server->no_more('all end');
		});
}

# The postmaster starts the next one after a minute.
sub _end_keeper
{
	my ($self) = @_;
	my $server = $self->{server};

	$server->wait_for(sub { $server->keeper }, 'there is a keeper');
	$server->strike($server->keeper, 'TERM');
	$self->_pause(2);
	$server->reset;
	return;
}

sub _kill_postmaster
{
	my ($self) = @_;
	my $server = $self->{server};

	return $self->_over(sub { $server->kill_postmaster; $server->{crashes}++; $server->start });
}

# Each setting that a reload changes, with values.
my %values = (
	'pg_leakhunt.enabled' => [qw(off)],
	'pg_leakhunt.sample_interval' => [qw(1 4kB 512kB 2GB)],
	'pg_leakhunt.scope' => [qw(long_lived)],
	'pg_leakhunt.track_queries' => [qw(off)],
	'pg_leakhunt.track_malloc' => [qw(off)],
	'pg_leakhunt.statement_min_bytes' => [qw(0 16MB)],
	'pg_leakhunt.dump_on_exit' => [qw(off)],
	'pg_leakhunt.dump_min_bytes' => [qw(0 32MB)],
	'pg_leakhunt.dump_min_peak' => [qw(0 1GB)],
	'pg_leakhunt.dump_growth' => [qw(0 1MB)],
	'pg_leakhunt.dump_keep' => [qw(1 5 100)],
	'pg_leakhunt.dump_max_size' => [qw(0 1MB 16MB)],
	'pg_leakhunt.dump_text' => [qw(off)],
	'pg_leakhunt.log' => [ '', 'exits', 'findings' ],
	'pg_leakhunt.proof_max_memory' => [qw(0 16MB)],
	'pg_leakhunt.forecast_warning' => [qw(1min 4h)],
	'pg_leakhunt.debuginfod_urls' => [qw(none)],
	'pg_leakhunt.keeper_interval' => [qw(200ms 5s)]);

# Three settings at random values, for some seconds.
sub _change_settings
{
	my ($self) = @_;
	my @chosen = (shuffle(sort keys %values))[ 0 .. 2 ];
	my %set = map { $_ => $values{$_}[ rand @{ $values{$_} } ] } @chosen;

	main::progress(join ', ', map { "$_ = '$set{$_}'" } sort keys %set);
	$self->_with(\%set, sub { $self->_pause(4) });
	return;
}

sub _with
{
	my ($self, $set, $do) = @_;
	my $server = $self->{server};

	$server->set(%$set);
	$server->know_limits(%$set);
	$do->();
	$server->answer("ALTER SYSTEM RESET $_") for sort keys %$set;
	$server->answer('SELECT pg_reload_conf()');
	$server->know_limits;
	return;
}

# Sessions that need more than they may have, with each action.
sub _limits
{
	my ($self) = @_;
	my $action = (qw(log error terminate))[ $self->{limits_tried}++ % 3 ];
	my $limit = int(rand 2) ? 'process_memory_limit' : 'server_memory_limit';

	$self->{server}->let('limits');
	$self->_with({ "pg_leakhunt.$limit" => $limit =~ /^process/ ? '32MB' : '256MB', 'pg_leakhunt.limit_action' => $action },
		sub {
			$self->_run_sql('limited', 'app', 'SELECT count(*) FROM hold_rows(80, 2)') for 1 .. 3;
			$self->_pause(6);
		});
	$self->{server}->no_more('limits');
	return;
}

sub _run_sql
{
	my ($self, $application, $role, $sql, %more) = @_;

	return $self->{sessions}->run($application, role => $role, %more, command => [ 'psql', '-X', '-q', '-c', $sql ]);
}

# A file that takes all room but so many bytes of a disk, while others may take some of it.
sub _fill
{
	my ($self, $file) = @_;

	open my $filler, '>', $file or die "$file: $!";
	1 while (syswrite($filler, 'x' x 65536) // 0) == 65536;
	close $filler;
	return;
}

sub _fill_disk
{
	my ($self, $file, $what) = @_;
	my $server = $self->{server};

	$server->let($what);
	$self->_fill($file);
	$self->_run_sql('worth', 'app', 'SELECT leak_slab(40000)') for 1 .. 5;
	$self->_pause(5);
	unlink $file;
	$server->no_more($what);
	return;
}

sub _fill_dumps
{
	my ($self) = @_;

	return if !$ENV{SMALL_DISK};
	return $self->_fill_disk("$self->{server}{disk}/filler", 'disk is full');
}

sub _fill_shm
{
	my ($self) = @_;

	return if !$ENV{SMALL_SHM};
	return $self->_fill_disk('/dev/shm/filler', 'shm is full');
}

# What depends on it is there again, the pattern too.
sub _drop_extension
{
	my ($self) = @_;
	my $server = $self->{server};

	$server->let('extension is dropped');
	$server->answer('DROP EXTENSION pg_leakhunt CASCADE');
	$self->_pause(2);
	$server->answer('CREATE EXTENSION pg_leakhunt');
	main::define_pattern();
	$server->no_more('extension is dropped');
	return;
}

# Everything is forgotten that was sampled.
sub _reset
{
	my ($self) = @_;

	$self->{server}->answer('SELECT pg_leakhunt_reset_all(), pg_leakhunt_baseline_all()');
	return $self->_pause(1);
}

# An hour ahead, a day back, and then right again.  What has gone to sleep by the clock that was ahead
# would sleep for an hour, as pg_sleep does in PostgreSQL.
sub _jump_clock
{
	my ($self) = @_;
	my $server = $self->{server};

	for my $seconds (3600, -86400, 0)
	{
		$server->set_clock($seconds);
		$server->reset;
		$self->_pause(3);
	}
	$server->wake_sleepers;
	return;
}

# Many sessions that leave dumps exit at a time.
sub _storm_of_exits
{
	my ($self) = @_;

	$self->_run_sql('storm', 'stormy', 'SELECT leak_slab(40000)') for 1 .. 24;
	return $self->_pause(2);
}

# More findings at a time than the log tells in a minute.
sub _storm_of_findings
{
	my ($self) = @_;

	$self->{sessions}->plant('top', application => 'storm', role => 'stormy') for 1 .. 14;
	return $self->_pause(3);
}

# By PostgreSQL itself, and as logrotate does.
sub _rotate_log
{
	my ($self) = @_;
	my $server = $self->{server};
	my $directory = $server->node->data_dir . '/log';

	if ($self->{done}{rotation} % 2)
	{
		my ($youngest) = sort { -M $a <=> -M $b } glob("$directory/*");
		rename $youngest, "$youngest.1";
	}
	$server->answer('SELECT pg_rotate_logfile()');
	return $self->_pause(1);
}

# A role and a database that come and go, with sessions.
sub _guests
{
	my ($self) = @_;
	my $server = $self->{server};
	my $guest = 'guest' . ++$self->{number};

	$server->answer("CREATE ROLE $guest LOGIN");
	$server->answer("CREATE DATABASE $guest OWNER $guest");
	$self->_run_sql('guest', $guest, "CREATE TABLE t$_ AS SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g; CREATE INDEX ON t$_ (g)", database => $guest) for 1 .. 3;
	$self->_pause(3);
	$server->answer("DROP DATABASE $guest WITH (FORCE)");
	$server->answer("DROP ROLE $guest");
	return;
}

# A walsender that decodes what others write.
sub _decode
{
	my ($self) = @_;
	my $server = $self->{server};
	my $slot = 'slot' . ++$self->{number};

	$server->answer("SELECT pg_create_logical_replication_slot('$slot', 'test_decoding')");
	my $client = $self->{sessions}->run('decoding', command => [ 'pg_recvlogical', '-d', 'postgres', '-S', $slot, '--start', '-f', '/dev/null' ]);
	$self->_pause(4);
	kill 'INT', grep { $self->{sessions}{clients}{$_} == $client } keys %{ $self->{sessions}{clients} };
	$server->wait_for(sub { $self->{sessions}->reap; ($server->try_to_ask("SELECT pg_drop_replication_slot('$slot')", 1))[0] == 0 }, 'a slot is dropped');
	return;
}

sub _back_up
{
	my ($self) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();

	$self->{sessions}->run('backup', command => [ 'pg_basebackup', '-D', "$folder/backup", '-c', 'fast' ]);
	return $self->_pause(4);
}

# A standby, with pg_leakhunt, follows, and is promoted.
sub _promote_standby
{
	my ($self) = @_;
	my $server = $self->{server};
	my $name = 'standby' . ++$self->{number};
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$server->node->backup($name);
	$standby->init_from_backup($server->node, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', "logging_collector = off\npg_leakhunt.dump_directory = 'pg_leakhunt'\n");
	$standby->start;
	my $there = $standby->safe_psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_processes');
	$self->_pause(2);
	$standby->promote;
	$there .= $standby->safe_psql('postgres', 'CREATE TABLE promoted (a int); SELECT count(*) > 3 FROM pg_leakhunt_processes');
	$standby->stop;
	push @{ $self->{faults} }, "a standby that was promoted shows no processes: $there" if $there ne 'tt';
	my @wrong = grep { /PANIC|TRAP|terminated by signal/ } split /\n/, slurp_file($standby->logfile);
	push @{ $self->{faults} }, "a standby: @wrong" if @wrong;
	PostgreSQL::Test::Utils::system_log('rm', '-rf', $standby->data_dir, $server->node->backup_dir . "/$name");
	return;
}

1;
