# Where pg_leakhunt must not work, the server must: needs servers that start
# with something wrong.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $foreign = ($ENV{LEAKER} =~ s/leaker$/foreign_patch/r);
my $scratch = PostgreSQL::Test::Utils::tempdir_short();
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# Start with settings; returns what the start left in the log.
sub start_with
{
	my ($conf) = @_;

	unlink $node->data_dir . '/postgresql.auto.conf';
	append_to_file($node->data_dir . '/postgresql.auto.conf',
		"shared_preload_libraries = 'pg_leakhunt'\n$conf");
	my $offset = -e $node->logfile ? -s $node->logfile : 0;
	$node->start;
	return slurp_file($node->logfile, $offset);
}

# The module is inert, and says why; the server works.
sub is_inert
{
	my ($log, $reason, $name) = @_;
	my $warnings = () = $log =~ /WARNING:  pg_leakhunt is inactive$/mg;

	is($warnings, 1, "$name: the log has one WARNING");
	like($log, qr/DETAIL:  $reason/, "$name: the log has the reason");
	my ($stdout, $stderr);
	$node->psql(
		'postgres', 'CREATE EXTENSION IF NOT EXISTS pg_leakhunt;
		SET pg_leakhunt.sample_interval = 1;
		CREATE TABLE works AS SELECT g FROM generate_series(1, 1000) g;
		DROP TABLE works;
		SELECT count(*), count(state), count(rss_anon_bytes) > 3 FROM pg_leakhunt_processes WHERE pid <> 0',
		stdout => \$stdout,
		stderr => \$stderr);
	like($stdout, qr/^\d+\|0\|t$/, "$name: the views have no profiles, and what the kernel knows");
	like($stderr, qr/WARNING:  pg_leakhunt is inactive in this session/,
		"$name: the views tell that pg_leakhunt is inactive");
	like($stderr, qr/$reason/, "$name: the views tell the reason");
	is($node->safe_psql('postgres', 'SHOW pg_leakhunt.method_tables'), 'untouched', "$name: so does a setting");
	$node->stop;
}

# Somebody else's functions are in the method table already.
is_inert(
	start_with("shared_preload_libraries = '$foreign.so, pg_leakhunt'\n"),
	q{Method 1 of AllocSet contexts is not the server's own: something else has replaced it\.},
	'foreign patch');
if ($node->pg_version >= 17)
{
	is_inert(
		start_with(
			"shared_preload_libraries = '$foreign.so, pg_leakhunt'\nforeign_patch.spare = on\n"
		),
		q{The method id that would mark chunks of AllocSet contexts is already in use\.},
		'foreign mark');
}

# Where that module comes later, and passes calls on, both work.
unlike(start_with("shared_preload_libraries = 'pg_leakhunt, $foreign.so'\n"),
	qr/WARNING/, 'a module that patches later is no trouble');
define_leakers($node);
is($node->safe_psql('postgres', q{
		SET pg_leakhunt.sample_interval = 1;
		SELECT leak_top(64, 1000), allocate_in_balance(64, 1000);
		SELECT function_of(site), live_count, live_bytes FROM pg_leakhunt_report
		WHERE site LIKE 'leaking_top%' OR site LIKE 'balanced%' AND live_count > 0;
		SHOW pg_leakhunt.method_tables}),
	"|\nleaking_top|1000|64000\npatched", 'a leak is found to the byte, and what is freed is gone');
$node->stop;

# The directory can't be made, or is not ours alone.
is_inert(
	start_with("pg_leakhunt.profile_directory = '/proc/no_such_directory'\n"),
	q{Could not create directory "/proc/no_such_directory": No such file or directory\.},
	'no directory');
mkdir "$scratch/open", 0755 or die $!;
chmod 0755, "$scratch/open";
is_inert(
	start_with("pg_leakhunt.profile_directory = '$scratch/open'\n"),
	qq{Directory "$scratch/open" is open to other users},
	'open directory');
append_to_file("$scratch/file", '');
is_inert(
	start_with("pg_leakhunt.profile_directory = '$scratch/file'\n"),
	qq{"$scratch/file" is not a directory\\.},
	'no directory but a file');
mkdir "$scratch/target", 0700 or die $!;
symlink("$scratch/target", "$scratch/link") or die $!;
is_inert(
	start_with("pg_leakhunt.profile_directory = '$scratch/link'\n"),
	qq{"$scratch/link" is not a directory\\.},
	'symbolic link');
is_inert(start_with("pg_leakhunt.profile_directory = '/usr'\n"),
	q{Directory "/usr" belongs to another user\.},
	'directory of another user');

# A directory of one's own choice works, and stays.
start_with("pg_leakhunt.profile_directory = '$scratch/target'\n");
is( $node->safe_psql(
		'postgres', 'SET pg_leakhunt.sample_interval = 1; PREPARE p AS SELECT 1;
		SELECT state FROM pg_leakhunt_processes WHERE pid = pg_backend_pid()'
	),
	'live',
	"a directory of one's own choice has profiles");
$node->stop;
ok(-d "$scratch/target", "a directory of one's own choice stays when the server stops");
wait_until(sub { !profile_files("$scratch/target") }, "no profile is left in a directory of one's own choice");

# Loaded by a session, the module covers that session, and says so once.
start_with("shared_preload_libraries = ''\n");
define_leakers($node);
my ($stdout, $stderr);
$node->psql(
	'postgres', q{LOAD 'pg_leakhunt'; SET pg_leakhunt.sample_interval = 1;
	SELECT leak_top(64, 1000);
	SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'live';
	SELECT live_bytes FROM pg_leakhunt_report WHERE function_of(site) = 'leaking_top'},
	stdout => \$stdout,
	stderr => \$stderr);
is($stdout, "\n1\n64000", 'a session that loads the module is covered');
my $notices = () =
  $stderr =~ /NOTICE:  pg_leakhunt shows only processes that have loaded it/g;
is($notices, 1, 'a session that loads the module is told once that it is the only one');
set_and_reload($node, 'session_preload_libraries' => 'pg_leakhunt');
my $session = $node->background_psql('postgres', on_error_die => 1);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('SELECT leak_top(1000, 100000)');
# it is some 190 samples, so that 33 MB are more than four standard errors
is_near(
	report_row($node, $pid, 'leaking_top')->{live_bytes},
	33_000_000, 100_000_000,
	'session_preload_libraries covers new sessions');
$session->quit;
$node->stop;

done_testing();
