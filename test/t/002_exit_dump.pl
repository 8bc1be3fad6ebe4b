# What a process leaves when it exits: needs sessions that end, and the server's log.
# t-long/085_heap_texts.pl has other people's tools read it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

# Run statements in a session of their own, which ends; returns its pid and
# what it left in the log.
sub run_session
{
	my ($sql) = @_;
	my $offset = -s $node->logfile;
	my ($pid) = split /\n/,
	  $node->safe_psql('postgres', "SELECT pg_backend_pid(); $sql");

	# exit comes after psql has its answer
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
	wait_until(sub { !-e "/proc/$pid" }, 'a session is over');
	return ($pid, slurp_file($node->logfile, $offset));
}

my $user = ask($node, 'SELECT session_user');
my ($pid, $log);
{
	local $ENV{PGAPPNAME} = 'worker 7';
	($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
}
my @files = dump_files($node, $pid);
is(scalar @files, 1, 'a process that held much at its exit leaves one dump');
my $file = $files[0];
like($file, qr{/$pid\.1\.exit\.profile$}, 'the name of a dump is PID, number and reason');
is((stat($file))[2] & 0777, 0600, 'only the server can read a dump');
my $text_file = dump_text($file);
like($text_file, qr{/$pid\.1\.exit\.heap$}, 'the text of a dump lies beside it');
is((stat($text_file))[2] & 0777, 0600, 'only the server can read the text of a dump');
my $time = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d/;
# what brings a malloc of its own has memory of its own, too
my ($private, $malloc) =
  malloc_tells($postmaster)
  ? (qr/\d\d MB/, qr/, \d+ \w+ allocated with malloc outside of them, \d+ \w+ free in malloc/)
  : (qr/\d+ MB/, qr//);
like(
	$log,
	qr{\[$pid\].* LOG:  leak approximation summary: ~\d{8} bytes, ~\d+ objects, >= \d+ call sites? in "pg_leakhunt/$pid\.1\.exit\.profile"\n},
	'the log has a summary: how much, and where');
like(
	$log,
	qr{DETAIL:  Process: client backend, user "\Q$user\E", database "postgres", application "worker 7"\.  At its exit it had \d\d MB in memory contexts, \d\d MB of that in TopMemoryContext$malloc\.  Samples stand for \d\d MB \(\+/- \d+ MB\) of what it held, caches included, \d\d MB of it by leaker\.so\+0x[0-9a-f]+ \(called in leak_top\) in TopMemoryContext\.  Its peak was \d\d MB \(estimated from samples\) at $time\.  Its private memory was $private at exit, and at most $private when it was counted, at $time\.  Statement: SELECT leak_top\(64, 1000000\)},
	'the detail in the log names the process, the call site, the peak, the statement');
my ($hint) = $log =~ /HINT:  (SELECT \* FROM pg_leakhunt_report\('.*'\)) shows the call sites, with names of functions in place of addresses\.$/m;
cmp_ok(ask($node, "SELECT count(*) FROM ($hint) AS sites"), '>', 0, 'the hint in the log shows the call sites of the dump');
is(() = $log =~ /LOG:  (?:leak|memory)/g, 1, 'a dump has one message in the log');
is_deeply([ grep { /tmp$/ } glob($node->data_dir . '/pg_leakhunt/*') ],
	[], 'no temporary file is left');

# the figures of line 1 are the sums of the lines
my $text = slurp_file($text_file);
my ($count, $bytes, $total_count, $total_bytes) =
  $text =~ /^heap profile: (\d+): (\d+) \[(\d+): (\d+)\] @ heapprofile$/m;
my @sum = (0, 0, 0, 0);
while ($text =~ /^(\d+): (\d+) \[(\d+): (\d+)\] @ 0x/mg)
{
	my @line = ($1, $2, $3, $4);
	$sum[$_] += $line[$_] for 0 .. 3;
}
is_deeply(
	\@sum,
	[ $count, $bytes, $total_count, $total_bytes ],
	'the lines of a text add up to its header');
is( $bytes,
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report('@{[$file =~ s{.*/}{}r]}')"),
	'a text and its dump have the same live bytes');
# the leak is some 122 samples, so that 27 MB are more than four standard errors
is_near($bytes, 27_000_000, 64_000_000, 'the live bytes of a dump are near what was leaked');

# A leak of many statements is that of one site, and a quarter of what a process
# needs to hold is enough there: 20 MB are 1,250 samples, which are surely more than 8.
($pid, $log) = run_session(
	join '; ',
	"SET pg_leakhunt.sample_interval = '16kB'",
	map { "SELECT leak_top(1000, 1000) AS statement_$_" } 1 .. 20);
is(scalar dump_files($node, $pid), 1, 'a leak by many statements leaves one dump');
like($log, qr/, \d+ MB of it by leaker\.so\+0x[0-9a-f]+ \(called in leak_top\) in TopMemoryContext\./, 'the log adds up a leak by many statements');
like($log, qr/The statement with the most, of \d+: SELECT leak_top\(1000, 1000\) AS statement_\d+/,
	'the log names the statement with the most');

# The rest is about smaller dumps.
set_and_reload($node, 'pg_leakhunt.dump_min_bytes' => '1MB');

# hostile names stay within their line
($pid, $log) = run_session(
	qq{SET pg_leakhunt.sample_interval = 1;
	SELECT leak_named_context(E'a b\\nheap profile: 1: 2 [3: 4] @\\t%41"', 100), leak_top(64, 100000)}
);
($file) = dump_files($node, $pid);
$text = slurp_file(dump_text($file));
like(
	$text,
	qr{^# \d+ bytes \+/- 0 in a b heap profile: 1: 2 \[3: 4\] @ %41" \(session\), statement SELECT leak_named_context}m,
	'a hostile context name stays in its line');
is(() = $text =~ /^heap profile: /mg, 1, 'a hostile context name does not begin a line of its own');
is( ask($node, "SELECT count(*) FROM pg_leakhunt_report('@{[$file =~ s{.*/}{}r]}') WHERE context_name = E'a b\\nheap profile: 1: 2 [3: 4] @\\t%41\"'"),
	1,
	'the dump has a hostile context name as it is');

# what settings say
($pid, $log) = run_session('SELECT leak_top(1, 100)');
is(scalar dump_files($node, $pid), 0, 'a process that holds little leaves no dump');
unlike($log, qr/leak approximation|memory peak/, 'a process that holds little leaves no message');

set_and_reload($node, 'pg_leakhunt.dump_min_bytes' => '1GB');
($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
is(scalar dump_files($node, $pid), 0, 'a process that holds less than dump_min_bytes leaves no dump');

set_and_reload(
	$node,
	'pg_leakhunt.dump_min_bytes' => 0,
	'pg_leakhunt.dump_on_exit' => 'off');
($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
is(scalar dump_files($node, $pid), 0, 'with dump_on_exit = off there is no dump');

set_and_reload(
	$node,
	'pg_leakhunt.dump_on_exit' => 'on',
	'pg_leakhunt.dump_min_bytes' => '1MB',
	'pg_leakhunt.log' => 'findings',
	'pg_leakhunt.dump_keep' => 2);
my @pids;
for (1 .. 3)
{
	($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
	push @pids, $pid;
	unlike($log, qr/leak approximation|memory peak/, 'without exits in pg_leakhunt.log there is no summary in the log');
}
is_deeply(
	[
		sort map { m{/(\d+)\.\d+\.exit\.profile$} }
		  glob($node->data_dir . '/pg_leakhunt/*')
	],
	[ sort @pids[ 1, 2 ] ],
	'dump_keep leaves the newest dumps');
is_deeply(
	[
		sort map { m{/(\d+)\.\d+\.exit\.heap$} }
		  glob($node->data_dir . '/pg_leakhunt/*')
	],
	[ sort @pids[ 1, 2 ] ],
	'dump_keep leaves the texts of the newest dumps');

# each reason has its own: nobody's exits push out what somebody asked for
my $manual = $node->safe_psql('postgres',
	'SELECT leak_top(64, 100000); SELECT pg_leakhunt_dump(pg_backend_pid())');
run_session('SELECT leak_top(64, 1000000)') for 1 .. 3;
is(scalar(() = files_of($node, '*.exit.profile')), 2, 'as many exit dumps as dump_keep stay');
ok(-e "@{[$node->data_dir]}/pg_leakhunt/" . ($manual =~ s/\s//gr),
	'exit dumps do not push out a manual dump');

# a directory that can't be written to: a WARNING, and a clean exit
my $directory = $node->data_dir . '/pg_leakhunt';
rename($directory, "$directory.aside") or die $!;
append_to_file($directory, 'not a directory');
($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
like($log, qr/WARNING:  could not write dump file/, 'an exit tells that the directory of dumps is none');
unlike($log, qr/PANIC|FATAL|terminated by signal/, 'a process whose dump cannot be written exits cleanly');
unlink $directory;
symlink('/dev/full', $directory) or die $!;
($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
like($log, qr/WARNING:  could not write dump file/, 'an exit tells that the directory of dumps is a device');
unlink $directory;

# a full disk, where the caller has mounted a small one
SKIP:
{
	skip 'no small file system is mounted', 7 if !$ENV{SMALL_DISK};
	symlink($ENV{SMALL_DISK}, $directory) or die $!;
	append_to_file("$ENV{SMALL_DISK}/filler", 'x' x 100_000) for 1 .. 20;
	($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
	like(
		$log,
		qr/WARNING:  could not write dump file .*No space left on device/,
		'an exit tells that the disk is full');

	# the others who write dumps: a session that asks, and one that grows
	my (undef, undef, $error) = $node->psql('postgres',
		"SET pg_leakhunt.sample_interval = '16kB'; SELECT leak_top(64, 100000); SELECT pg_leakhunt_dump(pg_backend_pid())");
	like(
		$error,
		qr/ERROR:  could not write dump file .*No space left on device/,
		'a session that asks for a dump gets an ERROR if the disk is full');
	set_and_reload($node, 'pg_leakhunt.dump_growth' => '1MB');
	($pid, $log) = run_session('SELECT leak_top(64, 1000000)');
	like(
		$log,
		qr/^WARNING:  process $pid could not write dump file .*No space left on device \(28\)$/m,
		'a process that grows tells on stderr that the disk is full');
	is(() = $log =~ /^WARNING:  process $pid/mg, 1, 'a process that grows tells only once that the disk is full');

	is_deeply([ glob("$ENV{SMALL_DISK}/*.profile $ENV{SMALL_DISK}/*.heap $ENV{SMALL_DISK}/*.tmp") ],
		[], 'a full disk has nothing half-written');
	unlink "$ENV{SMALL_DISK}/filler";
	unlink $directory;
}

# Two sessions that write dumps of one process: each file has a name of its own.
my $patient = $node->background_psql('postgres');
my $patient_pid = session_pid($patient);
$patient->query_safe('SELECT leak_top(64, 1000000)');
set_and_reload($node, 'pg_leakhunt.dump_keep' => 1000);
my @writers = map { $node->background_psql('postgres') } 1, 2;
$_->query_until(qr//,
	"SELECT count(pg_leakhunt_dump($patient_pid)) FROM generate_series(1, 40);\n")
  for @writers;
$_->query('SELECT 1') for @writers;
my @written = files_of($node, "$patient_pid.*.manual.profile");
is(scalar @written, 80,
	'no dump takes the name of another');
$_->quit for $patient, @writers;

# Role and database are gone from the catalog, or on their way, when the process exits.
set_and_reload($node, 'pg_leakhunt.dump_min_bytes' => '1MB', 'pg_leakhunt.dump_growth' => 0, 'pg_leakhunt.log' => 'exits');
$node->safe_psql('postgres', 'CREATE ROLE doomed_role LOGIN; CREATE DATABASE doomed_database TEMPLATE postgres');
my $doomed = $node->background_psql('doomed_database', extra_params => [ '-U', 'doomed_role' ]);
my $doomed_pid = session_pid($doomed);
my $doomed_offset = -s $node->logfile;
$doomed->query_safe('SELECT leak_top(64, 1000000)');
$node->safe_psql('postgres', $_) for 'DROP ROLE doomed_role', 'DROP DATABASE doomed_database WITH (FORCE)';
wait_until(sub { !-e "/proc/$doomed_pid" }, 'a session of a role that is gone ends with its database');
$doomed->{run}->kill_kill;
like(
	slurp_file($node->logfile, $doomed_offset),
	qr/\[$doomed_pid\].* DETAIL:  Process: client backend, user "doomed_role", database "doomed_database", application /,
	'the log still has the names of a role and a database that are gone');
is_deeply([ map { /\.(\w+)\.profile$/ } dump_files($node, $doomed_pid) ], ['exit'], 'a session of a role that is gone leaves a dump');

# Many files beyond dump_keep go little by little.
set_and_reload($node, 'pg_leakhunt.dump_keep' => 10);
$patient = $node->background_psql('postgres');
$patient->query_safe('SELECT leak_top(64, 1000000)');
$patient->query_safe('SELECT pg_leakhunt_dump(pg_backend_pid()) FROM generate_series(1, 7)');
$patient->quit;
my @kept = files_of($node, '*.manual.profile');
is(scalar @kept, 10, 'of dumps beyond dump_keep the oldest go');

$node->stop;

# At default settings, healthy sessions leave neither a file nor a line: those of a
# pool, and some whose caches have met many tables and functions.
my $healthy = PostgreSQL::Test::Cluster->new('healthy');
$healthy->init;
$healthy->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_leakhunt'\nmax_connections = 100\n");
$healthy->start;
my @server = ('-h', $healthy->host, '-p', $healthy->port);
run_tool('pgbench', @server, '-i', '-q', 'postgres');
run_tool('pgbench', @server, '-n', '-c', 50, '-t', 50, @$_, 'postgres')
  for ['-S'], [], [ '-M', 'prepared' ], [ '-S', '-M', 'prepared' ];
$healthy->safe_psql(
	'postgres', q{
	DO $do$ BEGIN FOR i IN 1 .. 300 LOOP
		EXECUTE format('CREATE TABLE cached_%s (i int PRIMARY KEY, t text)', i);
		EXECUTE format($sql$ CREATE FUNCTION touch_%s() RETURNS bigint LANGUAGE plpgsql AS
			$$ BEGIN RETURN (SELECT count(*) FROM cached_%1$s WHERE t <> 'x'); END $$ $sql$, i);
	END LOOP; END $do$});
$healthy->safe_psql('postgres',
	join(";\n", (map { "SELECT touch_$_()" } 1 .. 300), map { "PREPARE p$_ AS SELECT t FROM cached_$_; EXECUTE p$_" } 1 .. 300))
  for 1 .. 3;
$healthy->safe_psql('postgres',
	'CREATE TABLE sorted AS SELECT i, md5(i::text) FROM generate_series(1, 300000) i; CREATE INDEX ON sorted (md5); SELECT count(*) FROM (SELECT * FROM sorted ORDER BY md5 OFFSET 1) s');
run_tool('pg_dump', @server, '-f', '/dev/null', 'postgres');
$healthy->stop;
is_deeply([ grep { !m{/(?:statements|capacity)\.\d+$} } glob($healthy->data_dir . '/pg_leakhunt/*') ], [], 'healthy sessions leave no dump');
unlike(slurp_file($healthy->logfile), qr/leak approximation|memory peak/, 'healthy sessions leave no message');
done_testing();

# The dump directory's files with such names.
sub files_of
{
	my ($node, $pattern) = @_;
	my @files = glob($node->data_dir . "/pg_leakhunt/$pattern");

	return @files;
}
