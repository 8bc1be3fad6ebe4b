# What the TAP tests share: a server with the module preloaded and the fixture
# module's functions defined, and questions to ask it.
package LeakHunt;

use strict;
use warnings;

# What servers of this test have left in /dev/shm goes with them: those that were stopped
# at once, or whose sessions loaded the module by themselves, have left profiles.  As
# this stands above the module that stops the servers, it is done after that.
my $test_pid = $$;
END
{
	if ($$ == $test_pid)
	{
		my ($name) = $0 =~ m{([^/]+)\.pl$};

		for my $directory (glob('/dev/shm/pg_leakhunt.*'))
		{
			open my $note, '<', "$directory/README" or next;
			my ($data) = grep { m{^data_directory: .*/t_\Q$name\E_\w+_data/pgdata$} } <$note>;

			File::Path::rmtree($directory) if $data && $data =~ m{\Q$PostgreSQL::Test::Utils::tmp_check\E/};
		}
	}
}

use Exporter 'import';
use File::Path ();
use File::Basename;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  new_server define_leakers define_corner_cases define_fixture set_and_reload
  profile_directory profile_files dump_files dump_text
  ask ask_in_one_session process_row report_row report_figures session_pid malloc_tells
  is_estimate is_near has_program needs_programs can_trace run_tool wait_until wait_for_server is_gone kill_server
  $quick_keeper wait_for_looks
  problem_at_exit sessions_left rounds
);

# Settings of a server whose keeper does all that it does fifty times as often, and says
# in the log when it has looked.
our $quick_keeper = "pg_leakhunt.keeper_interval = '200ms'\nlog_min_messages = debug1\n";

# The small disk of this test, where there are any.
$ENV{SMALL_DISK} = "$ENV{SMALL_DISKS}/" . basename($0, '.pl') if $ENV{SMALL_DISKS};

# The fixture module, built beside the tests; an absolute path.
my $leaker = $ENV{LEAKER} or die "LEAKER is not set";

# The time limit of a background session counts from its start, and so contains all
# that a test does between two queries, which takes long on a busy machine.  Here it
# counts from each query, and from the request to quit.
{
	no warnings 'redefine';
	my $start = \&PostgreSQL::Test::Cluster::background_psql;
	my $quit = \&PostgreSQL::Test::BackgroundPsql::quit;

	*PostgreSQL::Test::Cluster::background_psql = sub {
		my $session = $start->(@_);

		$session->set_query_timer_restart;
		return $session;
	};
	*PostgreSQL::Test::BackgroundPsql::quit = sub {
		my ($session) = @_;

		$session->{timeout}->start;
		return $quit->($session);
	};
}

# A data directory is a copy of one that initdb has made once, as PostgreSQL 16 and later
# do it by themselves.
if ($ENV{INITDB_TEMPLATE} && slurp_file($INC{'PostgreSQL/Test/Cluster.pm'}) !~ /INITDB_TEMPLATE/)
{
	no warnings 'redefine';
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;

	*PostgreSQL::Test::Utils::system_or_bail = sub {
		my (@command) = @_;

		# with other options it has to be made
		@command = ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $command[2])
		  if "@command[0, 1]" eq 'initdb -D' && "@command[3 .. $#command]" eq '-A trust -N';
		return $run->(@command);
	};
}

# A running server with the module preloaded, and extension and leakers in
# database postgres.  "conf" is appended to postgresql.conf.  What the keeper proves
# between two questions changes the answer: tests that want it say so.
sub new_server
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%params);
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.proof_max_memory = 0\n" . ($conf // ''));
	$node->start;
	define_leakers($node);
	return $node;
}

# Make the extension, the functions of the fixture module, and two that take the
# function out of a frame's text, and of those of a stack.
sub define_leakers
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION IF NOT EXISTS pg_leakhunt;
		CREATE OR REPLACE FUNCTION function_of(frame text) RETURNS text
			LANGUAGE sql IMMUTABLE AS
			$$ SELECT regexp_replace(frame, ' [([].*', '') $$;
		CREATE OR REPLACE FUNCTION functions(stack text[]) RETURNS text[]
			LANGUAGE sql IMMUTABLE AS
			$$ SELECT array_agg(function_of(frame)) FROM unnest(stack) frame $$});
	$node->command_ok(
		[
			'psql', '-X', '-q', '-d', $node->connstr('postgres'),
			'-v', "leaker=$leaker.so", '-f', "$leaker.sql"
		],
		'fixture functions are defined');
}

# Make the functions of another fixture module, by its name.
sub define_fixture
{
	my ($node, $name) = @_;
	my $module = $leaker =~ s/leaker$/$name/r;

	$node->command_ok(
		[
			'psql', '-X', '-q', '-d', $node->connstr('postgres'),
			'-v', "$name=$module.so", '-f', "$module.sql"
		],
		"functions of $name are defined");
}

# Make the functions of the module with the less usual allocations.
sub define_corner_cases
{
	my ($node) = @_;

	define_fixture($node, 'corner_cases');
}

# The directory of that server's profiles: a session sees its own mapped.
sub profile_directory
{
	my ($node) = @_;
	my $maps = $node->safe_psql(
		'postgres', q{
		SET pg_leakhunt.sample_interval = 1;
		PREPARE kept AS SELECT 1;
		SELECT 1 FROM pg_leakhunt_processes LIMIT 1;
		SELECT pg_read_file('/proc/self/maps')});

	$maps =~ m{(/\S+)/\d+$}m or die "no profile is mapped: $maps";
	return $1;
}

# How often a test does what it does again and again: where SHORT is set, as on other
# releases than the first, a fifth of the times.
sub rounds
{
	my ($times) = @_;

	return $ENV{SHORT} ? $times / 5 : $times;
}

# Files in a directory, without the path.
sub profile_files
{
	my ($directory) = @_;

	return map { s{.*/}{}r } glob("$directory/*");
}

# Dump files of a pid, sorted by sequence number.
sub dump_files
{
	my ($node, $pid) = @_;
	my @files = sort glob($node->data_dir . "/pg_leakhunt/$pid.*.profile");

	return @files;
}

# The path of the text for jeprof and pprof that lies beside a dump.  That of a large
# profile, or of a process that has crashed, comes a little later than the dump.
sub dump_text
{
	my ($dump) = @_;
	my $text = $dump =~ s/\.profile$/.heap/r;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return $text if -e $text;
		select(undef, undef, undef, 0.1);
	}
	die "\"$dump\" has no text";
}

# Sessions that ask, by the name of their server.
my %asking;

# Let one session ask all that is asked of a server, until the code returns: names of
# functions are kept per session, and those of large libraries take seconds.
sub ask_in_one_session
{
	my ($node, $code) = @_;

	$asking{ $node->name } = $node->background_psql('postgres');
	$code->();
	(delete $asking{ $node->name })->quit;
}

# The answer to a query: one column, or several separated by "|".
sub ask
{
	my ($node, $query) = @_;
	my $session = $asking{ $node->name };

	return $session ? $session->query_safe($query) : $node->safe_psql('postgres', $query);
}

# Change settings in the configuration file, and return when the postmaster has
# read it: the next session starts with them, and one that is there takes them
# over before its next statement.
sub set_and_reload
{
	my ($node, @settings) = @_;
	my $loaded_at = ask($node, 'SELECT pg_conf_load_time()');

	while (my ($name, $value) = splice(@settings, 0, 2))
	{
		$node->append_conf('postgresql.conf', "$name = '$value'");
	}
	$node->reload;
	$node->poll_query_until('postgres',
		"SELECT pg_conf_load_time() > '$loaded_at'")
	  or die 'the settings were not loaded';
}

# The row of a process that must be there, by column.
sub process_row
{
	my ($node, $pid) = @_;

	return decode_json(
		ask($node,
			"SELECT row_to_json(p) FROM (SELECT * FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid)) p WHERE pid = $pid")
		  || die "process $pid has no row");
}

# Does an estimate agree with the truth, given its error_bytes?  That bound is
# one of 95%, so a test that insists on it would fail one time in twenty, and
# with some fifty such checks twice the bound still fails one run in two hundred.
# Three times the bound are six standard errors.  Whether the bound itself is
# right is tested where there are many trials.
sub is_estimate
{
	my ($estimate, $error_bytes, $truth, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_near($estimate, 3 * $error_bytes, $truth, $name)
	  or diag("error_bytes $error_bytes");
}

# Is a value no farther from the truth than the tolerance?
sub is_near
{
	my ($value, $tolerance, $truth, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return cmp_ok(abs($value - $truth), '<=', $tolerance, $name)
	  || diag("$value instead of $truth");
}

# The figures of the largest site of a process whose stack has a function.
sub report_row
{
	my ($node, $pid, $function) = @_;
	my $row = ask(
		$node, qq{
		SELECT live_bytes, live_count, error_bytes, samples, total_count,
			context_name, lifetime, site, query, array_length(stack, 1),
			stack[array_upper(stack, 1)]
		FROM pg_leakhunt_report
		WHERE pid = $pid AND '$function' = ANY (functions(stack))
		ORDER BY live_bytes DESC LIMIT 1});
	my %row;

	@row{
		qw(live_bytes live_count error_bytes samples total_count
		  context_name lifetime site query depth outermost)
	} = split /\|/, $row;
	return \%row;
}

# Each of these figures of a process, by name: expressions over the rows of its report
# and the functions of their stacks.  The report is made only once, as that takes the
# time.
sub report_figures
{
	my ($node, $pid, %figures) = @_;
	my @names = sort keys %figures;
	my $answer = ask($node,
		"WITH report AS (SELECT *, functions(stack) AS functions FROM pg_leakhunt_report($pid)) SELECT "
		  . join(', ', @figures{@names})
		  . ' FROM report');
	my %values;

	@values{@names} = split /\|/, $answer, -1;
	return \%values;
}

# The pid of a background psql session.
sub session_pid
{
	my ($session) = @_;

	return $session->query_safe('SELECT pg_backend_pid()');
}

# Whether malloc of a process says what it has in use: that of a sanitizer, or of
# Valgrind, is not glibc's, and tells nothing.
sub malloc_tells
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/maps") !~ /libasan|vgpreload/;
}

sub has_program
{
	my ($program) = @_;

	return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH};
}

# Leave a file of tests out where a program is missing that it asks.
sub needs_programs
{
	my ($missing) = grep { !has_program($_) } @_;

	plan skip_all => "there is no $missing" if $missing;
	return;
}

# What somebody else's tool prints; one that fails, fails the test.
sub run_tool
{
	my (@command) = @_;
	my ($stdout, $stderr) = ('', '');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	IPC::Run::run(\@command, '>', \$stdout, '2>', \$stderr)
	  or fail("@command") || diag($stderr);
	return $stdout;
}

# Wait until a Perl condition holds.
sub wait_until
{
	my ($condition, $name) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return pass($name) if $condition->();
		select(undef, undef, undef, 0.1);
	}
	return fail($name);
}

# Wait until a quick keeper has looked after all that it looks after, from now on.  It does
# so by each second look, and may be in the middle of one.
sub wait_for_looks
{
	my ($node) = @_;
	my $offset = -s $node->logfile;
	my $looks = sub { scalar(() = slurp_file($node->logfile, $offset) =~ /DEBUG:  the pg_leakhunt keeper has looked/g) };

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $looks->() >= 6;
		select(undef, undef, undef, 0.1);
	}
	die 'the keeper does not look';
}

# Wait until a server that has crashed lets sessions in again.  A query would not do:
# psql may have been turned away, and be gone, before the query is written to it.
sub wait_for_server
{
	my ($node, $killed_pid) = @_;

	# before the postmaster has noticed, the server still answers
	wait_until(sub { slurp_file($node->logfile) =~ /\(PID $killed_pid\) was terminated by signal/ },
		'the postmaster notices that a process was killed')
	  if defined $killed_pid;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if IPC::Run::run([ 'pg_isready', '-q', '-d', $node->connstr('postgres') ]);
		select(undef, undef, undef, 0.1);
	}
	die 'the server does not start again';
}

# Kill a postmaster, and wait until it and the given processes are gone.  Until somebody
# has waited for it, which may be an init that looks every few seconds, its pid is taken
# for a server that runs, and no other starts there.
sub kill_server
{
	my ($node, @children) = @_;
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	$node->kill9;
	return wait_until(sub { !grep { -e "/proc/$_" } $postmaster, @children },
		'a killed postmaster and its children are gone');
}

# Wait until a file or directory is gone.  The postmaster removes its directory when
# its pid file, for which pg_ctl waits, is gone.
sub is_gone
{
	my ($path, $name) = @_;

	return wait_until(sub { !-e $path }, $name);
}

# Can gdb look at sessions?  Without it, or where the kernel forbids it, not.
sub can_trace
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);
	my $output = has_program('gdb') ? qx(gdb -nx -batch -p $pid 2>&1) : '';

	$session->quit;
	return $output =~ /detached/;
}

# What can be told of a process that should be gone.
sub whereabouts
{
	my ($node, $pid) = @_;
	my $activity = ask($node,
		"SELECT backend_type, state, wait_event_type, wait_event, query FROM pg_stat_activity WHERE pid = $pid");
	my $kernel = `head -n 3 /proc/$pid/status /proc/$pid/wchan 2>&1`;
	my $stack = `gdb -batch -nx -p $pid -ex bt 2>&1`;

	return join "\n", $activity, $kernel, $stack;
}

# Wait until a session that has been quit is gone: its client does not wait for the
# server's process.  Returns nothing, or what is known of one that stays.
sub problem_at_exit
{
	my ($node, $pid) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if !-e "/proc/$pid";
		select(undef, undef, undef, 0.01);
	}
	return "process $pid does not exit: " . whereabouts($node, $pid);
}

# How many processes there are that serve a role, of any name if none is given: they
# exit some time after their clients and pg_stat_activity have seen the last of them.
sub sessions_left
{
	my ($node, $role) = @_;
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my $left = 0;

	$role //= '\S+';
	for my $process (glob('/proc/[0-9]*'))
	{
		local $/ = undef;
		open my $stat, '<', "$process/stat" or next;
		next if (<$stat> // '') !~ /\) \w $postmaster /;
		open my $title, '<', "$process/cmdline" or next;
		$left++ if (<$title> // '') =~ /^postgres: (?:.*: )?$role \S+ \[local\]/;
	}
	return $left;
}

1;
