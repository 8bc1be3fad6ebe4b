# System calls that fail, at start and while the server runs.  Needs a library
# preloaded into the server, which lets them fail for pg_leakhunt alone.
#
# FAULTS=all goes through all errors at all rates, which takes ten minutes.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# What fails, and how.  The first error is the most likely one.
my %errors = (
	'close' => [qw(EIO)],
	'dup2' => [qw(EBUSY)],
	'fchmod' => [qw(EPERM)],
	'fcntl' => [qw(EMFILE)],
	'fgets' => [qw(EIO)],
	'flock' => [qw(ENOLCK EINTR)],
	'fork' => [qw(EAGAIN)],
	'fscanf' => [qw(EIO)],
	'fstat' => [qw(EIO)],
	'fsync' => [qw(EIO)],
	'getdents64' => [qw(EIO)],
	'lstat' => [qw(EACCES)],
	'mkdir' => [qw(ENOSPC EACCES)],
	'mmap' => [qw(ENOMEM)],
	'mprotect' => [qw(ENOMEM)],
	'mremap' => [qw(ENOMEM)],
	'open' => [qw(EMFILE EACCES ENOSPC EINTR)],
	'opendir' => [qw(EMFILE)],
	'pipe2' => [qw(EMFILE)],
	'poll' => [qw(EINTR ENOMEM)],
	'posix_fallocate' => [qw(ENOSPC EINTR)],
	'pread' => [qw(EIO HALFWAY EINTR)],
	'pwrite' => [qw(ENOSPC HALFWAY EINTR)],
	'read' => [qw(EIO HALFWAY EINTR)],
	'rename' => [qw(ENOSPC EACCES)],
	'renameat2' => [qw(ENOSPC EINVAL)],
	'renameat2 link' => [qw(EINVAL)],
	'statfs' => [qw(EIO)],
	'unlink' => [qw(EACCES)],
	'write' => [qw(ENOSPC EIO HALFWAY EINTR)]);

# A call that always ends with these would rightly be tried for ever.
my %never_always = map { $_ => 1 } qw(EINTR HALFWAY);

# Statements as users have them, and their answers.
my $plain = <<'SQL';
SELECT count(*), sum(i) FROM generate_series(1, 1000) i;
CREATE TEMP TABLE t AS SELECT i, repeat('x', i % 50) s FROM generate_series(1, 500) i;
PREPARE p(int) AS SELECT count(*), max(s) = repeat('x', 49) FROM t WHERE i > $1;
EXECUTE p(100);
DO $$
BEGIN
	FOR i IN 1 .. 5 LOOP
		BEGIN
			EXECUTE format('CREATE TEMP TABLE u%s (a int PRIMARY KEY)', i);
			PERFORM 1 / (i % 2);
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END $$;
SELECT string_agg(CASE WHEN relnamespace <> pg_my_temp_schema() THEN relnamespace::regnamespace || '.' ELSE '' END || relname, ' ' ORDER BY oid) FROM pg_class WHERE relname ~ '^u\d$';
SELECT s, count(*) FROM t GROUP BY s ORDER BY length(s) LIMIT 1;
SELECT 'leaks', leak_top(64, 2000), leak_cache(1000, 300), leak_by_repalloc(100, 100);
SELECT 'frees', allocate_and_reset(100, 100), allocate_in_balance(100, 100);
SQL
my $answers = "1000|500500\n400|t\nu1 u3 u5\n|10\nleaks|||\nfrees||\n";

# What pg_leakhunt may say while something fails.  The server's own messages are like
# these: so all that tells ours from them is asked for.
my $our_file = qr/"pg_leakhunt(?:\/[\w.]+)?"/;
my $known_message = qr/
	(?:ERROR|WARNING):\ \ could\ not\ create\ directory\ "pg_leakhunt"\ for\ dump\ files:\  |
	(?:ERROR|WARNING):\ \ could\ not\ (?:open|read|write)\ dump\ file\ $our_file:\  |
	ERROR:\ \ could\ not\ open\ directory\ $our_file:\  |
	ERROR:\ \ could\ not\ write\ the\ baseline\ of\ process\ \d+\ in\ directory\  |
	ERROR:\ \ could\ not\ take\ a\ baseline\ of\ process\ \d+$ |
	ERROR:\ \ could\ not\ make\ the\ request(?:$|:\ |\ to\ process\ \d+:\ ) |
	ERROR:\ \ out\ of\ memory\n.*DETAIL:\ \ Could\ not\ allocate\ a\ profile[.]$ |
	ERROR:\ \ pg_leakhunt_check\ could\ not\ follow\ all\ allocations$ |
	(?:ERROR|WARNING):\ \ process\ \d+\ has\ no\ profile$ |
	WARNING:\ \ process\ \d+\ (?:could\ not\ be\ proven|has\ not\ answered) |
	WARNING:\ \ process\ \d+\ could\ not\ write\ dump\ file\ $our_file:\  |
	WARNING:\ \ ignoring\ file\ "[\d.]+"\ in\ the\ directory\ of\ the\ profiles$ |
	WARNING:\ \ ignoring\ file\ $our_file$ |
	WARNING:\ \ directory\ .*,\ in\ which\ processes\ show\ their\ profiles,\ was\ removed$ |
	WARNING:\ \ could\ not\ remove\ old\ dump\ files\ in\ "pg_leakhunt":\  |
	WARNING:\ \ could\ not\ read\ the\ symbols\ of\ "|
	WARNING:\ \ could\ not\ start\ a\ process\ to\ read\ symbols:\ 
/mx;

my $faults = Faults->new('faults');
my $conf = <<'CONF';
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 200kB
pg_leakhunt.dump_growth = 1MB
pg_leakhunt.scope = long_lived
pg_leakhunt.dump_keep = 10
fsync = on
synchronous_commit = off
CONF
my $node;
{
	local %ENV = (%ENV, $faults->environment);
	$node = new_server('main', $conf);
}

# A session that is there all the time, and one that asks.
my $session = $node->background_psql('postgres');
my $asking = $node->background_psql('postgres');
my $pid = session_pid($session);
$_->set_query_timer_restart for $session, $asking;
$asking->query_safe('SET pg_leakhunt.sample_interval = 1000000000');

# Questions to pg_leakhunt, the dear ones in turns.
my @questions = (
	'SELECT count(*) FROM pg_leakhunt_processes',
	'SELECT count(*) FROM pg_leakhunt_contexts',
	"SELECT pg_leakhunt_start($pid, 1)",
	"SELECT pg_leakhunt_baseline($pid)",
	"SELECT pg_leakhunt_dump($pid)",);
my $needs_symbols = "SELECT count(*) FROM pg_leakhunt_report($pid)";
my $reads_figures = 'SELECT count(*) FROM pg_leakhunt_metrics';
my @dear_questions = (
	$needs_symbols,
	'SELECT count(*) FROM pg_leakhunt_suspects',
	"SELECT count(*) FROM pg_leakhunt_check('SELECT 1', 2, 1)",
	"SELECT length(pg_leakhunt_folded($pid)); SELECT count(*) FROM pg_leakhunt_dumps",
);

# The messages of a text that are worse than a LOG, or a LOG of a process that has ended
# badly, each with its detail.  At a stop, the launcher's end is one of these, and that of
# a session whose client has just gone.
sub messages
{
	my ($text) = @_;

	return
	  grep { !/background worker "logical replication launcher"|terminating connection due to administrator command/ }
	  $text =~ /^(.*(?:(?:WARNING|ERROR|FATAL|PANIC):  |LOG:  .*(?:terminated by signal|exited with exit code)|TRAP:).*(?:\n.*DETAIL:  .*)?)/mg;
}

# Those that nobody should see.
sub unknown_messages
{
	my ($text) = @_;

	return grep { !/$known_message/ } messages($text);
}

# The part of the log since the last call.
my $log_at = 0;
sub new_log
{
	my $text = substr(slurp_file($node->logfile), $log_at);

	$log_at += length $text;
	return $text;
}

# How many chunks the session holds in contexts of that name, and how many it has
# lost in all.
sub figures
{
	my ($name) = @_;
	my $figures = $asking->query(
		"SELECT (SELECT coalesce(sum(live_count), 0) FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = '$name'), samples_dropped FROM pg_leakhunt_sampling WHERE pid = $pid"
	);

	return split /\|/, $figures;
}

# Without faults, everything is as it should be: nothing fails, and what the
# session does from now on is seen.
sub check_recovery
{
	my ($name) = @_;
	my $seen = 0;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	# after a failure, the next try comes with twice as many samples, or 5 s later
	while (time < $until)
	{
		$session->query("SELECT leak_named_context('after $name', 10)");
		($seen) = figures("after $name");
		last if $seen;
		$session->query('SELECT allocate_in_balance(10, 10000)');
	}
	return $seen ? () : ('the profile does not go on');
}

# One session that comes and goes while one call in "every" fails.  Returns what
# is wrong.
sub faulty_session
{
	my ($question) = @_;
	my ($out, $err);

	# a question that never ends would fail, too
	my $limit = "SET statement_timeout = '${PostgreSQL::Test::Utils::timeout_default}s'";
	$node->psql('postgres',
		join(";\n", "SELECT pg_backend_pid();\n$plain\\warn asking\n\\o /dev/null\n", $limit, @questions, $question, ''),
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	my ($from_plain, $from_questions) = split /^asking\n?/m, $err;
	my ($pid) = $out =~ s/^(\d+)\n// ? $1 : ();
	return (
		"$out\n" ne $answers ? "wrong answers: $out" : (),
		$from_plain ne '' ? "plain statements got $from_plain" : (),
		defined $pid ? problem_at_exit($node, $pid) : 'there was no session',
		unknown_messages($from_questions // ''),
		unknown_messages(new_log()));
}

# Run the workload while one call in "every" fails.
my $round = 0;
sub check_fault
{
	my ($function, $error, $every) = @_;
	my $name = "one $function in $every with $error";
	my ($held_before, $lost_before) = figures('');

	$faults->set($function, $error, $every);
	my @problems = faulty_session(
		$function =~ /fork|pipe2|dup2|fcntl|poll/ ? $needs_symbols :
		  $function =~ /fgets|fscanf/ ? $reads_figures :
		  $dear_questions[ $round++ % @dear_questions ]);
	my $answer = $session->query(
		"SELECT count(leak_named_context('$name', 10)) FROM generate_series(1, 50); SELECT leak_top(64, 200)"
	);
	push @problems, "the session got $answer$session->{stderr}"
	  if "$answer$session->{stderr}" ne "50\n";
	$session->{stderr} = '';
	my $failed = $faults->failed;
	$faults->clear;

	# only one process is forked, which moves its descriptors
	my $least = $function =~ /fork|dup2|fcntl/ ? 1 : 2;
	push @problems, 'nothing has failed' if $failed == 0 && $every <= $least;
	push @problems, check_recovery($name);
	my ($held, $lost) = figures($name);
	push @problems, "$held chunks of 50 held, $lost_before to $lost lost"
	  if $held > 50 || $held + $lost - $lost_before < 50;

	# whoever could not remove its profile has left it
	my $crashed = $asking->query(
		"SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'crashed'");
	push @problems, "$crashed processes seem to have crashed$asking->{stderr}"
	  if "$crashed$asking->{stderr}" ne '0' && $function ne 'unlink';
	$asking->{stderr} = '';

	# whoever exits without an error has dropped its tables
	my $left = $asking->query(
		"SELECT string_agg(relnamespace::regnamespace || '.' || relname, ' ') FROM pg_class WHERE relpersistence = 't'"
	);
	push @problems, "temporary tables are left: $left" if $left ne '';
	ok(!@problems, $name) or diag(join "\n", @problems);
}

# A fault may begin and end while a process is in such a call.
{
	local %ENV = (%ENV, $faults->environment);
	my $caller = IPC::Run::start(
		[
			$^X, '-e',
			'rename("pg_leakhunt.none", "none") while getppid() == $ARGV[0]',
			$$
		]);
	$faults->set('rename', 'EACCES', 1);
	wait_until(sub { $faults->failed > 0 }, 'a process calls');
	for (1 .. 20000)
	{
		$faults->set('rename', 'EACCES', 1);
		$faults->clear;
	}
	$caller->signal('TERM');
	$caller->finish;
	is($caller->full_result & 127, 15, 'faults come and go during calls');
}

# The library that lets calls fail has a shared mapping, which its open, close and read
# look at.  A process that reads symbols leaves it alone, as another library's.
$faults->count('read');
my $named = $session->query(
	"SELECT leak_top(64, 500); SELECT count(*) > 0 FROM pg_leakhunt_report($pid) WHERE site ~ '^leaking_top \\(leaker\\.c:'");
like($named, qr/^t$/m, "symbols are read beside another library's shared mapping");
is($session->{stderr}, '', 'a process that reads symbols does not end beside it');
cmp_ok($faults->calls, '>', 0, 'the library has looked at its mapping');
$faults->clear;

# A session that could not read when it began does not know its own start, without
# which it might be taken for another process: it shows its profile as soon as it does.
$faults->set('read', 'EIO', 1);
my $blind = $node->background_psql('postgres');
my $blind_pid = session_pid($blind);
$blind->query_safe('SELECT leak_top(64, 2000)');
$blind->query_safe('SELECT pg_sleep(1.1)');
$blind->query_safe('SELECT leak_top(64, 2000)');
$faults->clear;
is(process_row($node, $blind_pid)->{state},
	'small', 'a session that does not know its start shows nothing');
$blind->query_safe('SELECT pg_sleep(0.1)');
is(process_row($node, $blind_pid)->{state},
	'live', 'a session is live as soon as it knows its start');
$blind->quit;
is(problem_at_exit($node, $blind_pid), undef, 'a session that did not know its start exits');
is_deeply([ unknown_messages(new_log()) ], [], 'a session that did not know its start leaves no message');

# A profile that can't be protected from being cut short by others is not shown: who has
# it mapped would crash.
my $directory = profile_directory($node);
$faults->set('fchmod', 'EPERM', 1);
my $hidden = $node->background_psql('postgres');
my $hidden_pid = session_pid($hidden);
$hidden->query_safe('SELECT leak_top(64, 2000)');
my $unprotected = $faults->failed;
$faults->clear;
cmp_ok($unprotected, '>', 0, 'a profile can not be protected');
is_deeply([ grep { /^$hidden_pid\b/ } profile_files($directory) ], [], 'a profile that cannot be protected is no file');
wait_until(
	sub {
		$hidden->query_safe('SELECT leak_top(64, 200)');
		return process_row($node, $hidden_pid)->{state} eq 'live';
	},
	'a profile is shown as soon as it can be protected');
is((stat "$directory/$hidden_pid")[2] & 0777, 0400, 'nobody may write to a profile that was protected late');
$hidden->quit;
is(problem_at_exit($node, $hidden_pid), undef, 'a session whose profile was protected late exits');
is_deeply([ unknown_messages(new_log()) ], [], 'a profile that was protected late leaves no message');

# A profile that can not be mapped, or has no room, is not shown: whoever looks for it, and
# the log, are told why.
for my $case (
	[ 'mremap', 'EACCES', qr/Its profile could not be published in "\Q$directory\E": Permission denied\./,
		qr/The process tries again when it allocates/ ],
	[ 'statfs', 'EIO', qr/The file system of "\Q$directory\E" is too full for its profile\./,
		qr/Make \/dev\/shm larger \(shm_size of a container\)/ ])
{
	my ($function, $error, $reason, $hint) = @$case;

	$faults->set($function, $error, 1);
	my $unshown = $node->background_psql('postgres');
	my $unshown_pid = session_pid($unshown);
	$unshown->query_safe('SELECT leak_top(64, 2000)');
	$faults->clear;
	like($asking->query("SELECT replace(e::text, '\"\"', '\"') FROM pg_leakhunt_explain($unshown_pid) e"), $reason, "$function fails: the explanation has the reason");
	$asking->query("SELECT * FROM pg_leakhunt_report($unshown_pid)");
	like($asking->{stderr}, qr/has no profile\n.*$reason.*\n.*$hint/, "$function fails: whoever asks for the report is told why there is none");
	$asking->{stderr} = '';
	wait_until(sub { slurp_file($node->logfile) =~ /LOG:  could not publish the profile of process \d+\n.*$reason/ },
		"$function fails: the log tells why a profile is not shown");
	$unshown->quit;
}
new_log();

# A file system without hard links, whose rename may replace a file, has dumps, too.  The
# sessions above may not be gone yet, and leave dumps of their own.
$faults->set('renameat2 link', 'EINVAL', 1, session_pid($asking));
like($asking->query_safe("SELECT pg_leakhunt_dump($pid)"),
	qr/^$pid\.\d+\.manual\.profile$/, 'a dump is written without hard links');
is($faults->failed, 2, 'both other ways to give a dump its name have failed');
$faults->clear;

# The calls of unlink that fail come last, as they leave files.
my @all_errors = qw(ENOSPC EMFILE ENOMEM EACCES EIO EINTR);
for my $function ((grep { $_ ne 'unlink' } sort keys %errors), 'unlink')
{
	my @errors = @{ $errors{$function} };
	my %all = map { $_ => 1 } @errors, @all_errors;

	if (($ENV{FAULTS} // '') eq 'all')
	{
		for my $error (sort keys %all)
		{
			check_fault($function, $error, $_)
			  for grep { $_ > 1 || !$never_always{$error} } 1, 2, 3, 7;
		}
		next;
	}
	check_fault($function, $_, $never_always{$_} ? 2 : 1) for @errors;
	check_fault($function, $errors[0], $round % 2 ? 3 : 7) if @errors == 1;
}
$_->quit for $session, $asking;

# Profiles that could not be removed would keep their directory, and then no
# start would have to make it.
$node->stop;
unlink glob("$directory/*");
rmdir $directory;
is_deeply([ unknown_messages(new_log()) ],
	[], 'there is no message after all faults, or at the stop');

# At the start of the server: it starts, and has one thing to say at most.
for my $start (
	[ 'mkdir', 'ENOSPC', 'inactive' ], [ 'lstat', 'EACCES', 'inactive' ],
	[ 'mprotect', 'EACCES', 'inactive' ], [ 'fopen', 'EMFILE', 'inactive' ],
	[ 'open', 'EMFILE', 'active' ], [ 'mmap', 'ENOMEM', 'active' ],
	[ 'posix_fallocate', 'ENOSPC', 'active' ], [ 'flock', 'ENOLCK', 'active' ],
	[ 'fclose', 'EIO', 'active' ], [ 'fgets', 'EIO', 'inactive' ],
	[ 'readlink', 'EACCES', 'active' ], [ 'stat', 'EACCES', 'active' ],
	[ 'statfs', 'EIO', 'active' ])
{
	my ($function, $error, $state) = @$start;
	my $name = "start while $function fails with $error";

	{
		local %ENV = (%ENV, $faults->environment);
		$faults->set($function, $error, 1);
		$node->start;
	}
	my @messages = messages(new_log());
	my $answer = $node->safe_psql('postgres', $plain);
	my $failed = $faults->failed;
	$faults->clear;
	is("$answer\n", $answers, "$name: plain statements have their usual results");
	cmp_ok($failed, '>', 0, "$name: the call has failed");
	is(scalar @messages, $state eq 'inactive' ? 1 : 0, "$name: $state")
	  or diag("@messages");
	like("@messages", qr/WARNING:  pg_leakhunt is inactive/, "$name: the log tells that pg_leakhunt is inactive")
	  if $state eq 'inactive';
	$node->stop;
	is_deeply([ unknown_messages(new_log()) ], [], "$name: there is no unknown message afterwards");
}

# At the stop: a directory that can't be removed is empty, and is the next server's.
{
	local %ENV = (%ENV, $faults->environment);
	$node->start;
}
$directory = profile_directory($node);
$faults->set('rmdir', 'EACCES', 1);
$node->stop;
wait_until(sub { $faults->failed > 0 }, 'a directory can not be removed');
$faults->clear;
is_deeply([ profile_files($directory) ], [], 'nothing is left in a directory that can not be removed');
is_deeply([ messages(new_log()) ], [], 'there is no message of a directory that can not be removed');

# After a crash: without an answer how large the file system is, nothing of the dead may
# stay in it.  The server goes on all the same, and says what it has removed.
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
{
	local %ENV = (%ENV, $faults->environment);
	$node->start;
}
is(profile_directory($node), $directory, 'the next server takes the directory that was left');
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SELECT leak_top(1000, 3000)');
$faults->set('statvfs', 'EIO', 1);
kill 'KILL', $pid;
$session->{run}->finish;
wait_until(sub { slurp_file($node->logfile) =~ /reinitializing/ }, 'the server crashes');
wait_for_server($node);
cmp_ok($faults->failed, '>', 0, 'the size of the file system is not known after a crash');
$faults->clear;
is("${\ $node->safe_psql('postgres', $plain)}\n", $answers, 'the server goes on');
is_deeply([ grep { /^$pid\b/ } profile_files($directory) ], [], 'the profile of a crash is gone where the size of the file system is not known');
like(new_log(), qr/LOG:  removed \d+ profiles? \(\d+ \w+\) of (?:a process|processes) that did not exit cleanly/,
	'the log says that the profile of a crash is gone');
$node->stop;

done_testing();
