# The extension as an object: dropped while it is in use, moved, owned by others,
# dumped and restored, in several databases, on a standby, and in processes that
# are no server.  Needs sessions side by side, and servers that stop.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF', allows_streaming => 1);
pg_leakhunt.sample_interval = 4096
log_statement = none
CONF
my $directory = profile_directory($node);
my $scratch = PostgreSQL::Test::Utils::tempdir();

# Sessions in the midst of views, pictures and checks while the extension goes and
# comes: each statement works, or fails because something is gone.
append_to_file(
	"$scratch/use.sql", q{
SELECT count(*) > 0 FROM pg_leakhunt_report;
SELECT count(*) >= 0 FROM pg_leakhunt_suspects;
SELECT length(pg_leakhunt_flamegraph(pg_backend_pid())) > 0;
SELECT count(*) >= 0 FROM pg_leakhunt_check('SELECT 1', 2, 0);
SELECT count(*) >= 0 FROM pg_leakhunt_suppressed;
SELECT pg_leakhunt_dump(pg_backend_pid()) <> '';
SELECT FROM pg_sleep(0.1);
} x 15);
my @users = map {
	my %user = (out => '', err => '');

	$user{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', "$scratch/use.sql" ],
		'>', \$user{out}, '2>', \$user{err});
	\%user;
} 1 .. 3;
my $dropped = 0;
for (1 .. 15)
{
	# may be chosen to end a deadlock with a statement that looks at two views
	$dropped++
	  if $node->psql('postgres', 'DROP EXTENSION pg_leakhunt') == 0;
	select(undef, undef, undef, 0.05);
	$node->psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_leakhunt');
}
for my $user (@users)
{
	my @errors;

	$user->{run}->finish;
	@errors = grep { /ERROR|FATAL|PANIC|server closed|lost/ } split /\n/, $user->{err};
	is(join("\n", grep { !/does not exist|deadlock detected|could not open relation with OID|cache lookup failed for/ } @errors),
		'', 'sessions have no errors but those of an extension that is gone');
	note scalar(@errors) . " of 90 statements failed";
}
like(join('', map { $_->{out} } @users), qr/^t$/m, 'statements work while the extension goes and comes');
cmp_ok($dropped, '>=', 3, "the extension is dropped at least three times ($dropped)");
my ($status, $out, $err) =
  $node->psql('postgres', q{SELECT count(*) FROM pg_leakhunt_check('DROP EXTENSION pg_leakhunt', 2, 0)});
is($status, 3, 'a check that drops the extension fails');
like($err, qr/ERROR:/, 'a check that drops the extension has an error');
is(ask($node, q{SELECT count(*) FROM pg_leakhunt_check('SELECT 1', 2, 0)}), 0, 'the extension is there after a check that would drop it');

# In another schema, with an owner who is not the one who made it.
$node->safe_psql(
	'postgres', q{
	DROP EXTENSION pg_leakhunt;
	CREATE ROLE other SUPERUSER LOGIN;
	CREATE ROLE plain LOGIN;
	CREATE SCHEMA hunt;
	GRANT USAGE ON SCHEMA hunt TO plain;
	SET ROLE other;
	CREATE EXTENSION pg_leakhunt;
	ALTER EXTENSION pg_leakhunt SET SCHEMA hunt;
	INSERT INTO hunt.pg_leakhunt_suppressions VALUES ('leaking_top', 'is the fixture''s'), ('context:leaker *', NULL)});
my $checked = q{SELECT count(*) FROM hunt.pg_leakhunt_check('SELECT leak_top(64, 10)', 10, 2)};
is(ask($node, $checked), 0, 'suppressions work from any schema');
is( ask($node, q{SELECT count(*) > 0 FROM hunt.pg_leakhunt_check('SELECT leak_cache(64, 10)', 10, 2)}),
	't', 'suppressions in another schema leave other leaks');
is( $node->safe_psql('postgres',
		'SELECT count(DISTINCT pid) = 1 FROM hunt.pg_leakhunt_report',
		extra_params => [ '-U', 'plain' ]),
	't', 'a plain role sees itself alone');

# A dump has the suppressions, and is restored with them; so is a copy of a database.
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$scratch/dump", '-d', $node->connstr('postgres') ],
	'pg_dump dumps a database with the extension');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$scratch/dump" ],
	'pg_restore restores a database with the extension');
$node->safe_psql('template1', 'CREATE DATABASE copied TEMPLATE postgres');
my $suppressions = q{SELECT string_agg(pattern || ':' || coalesce(reason, '-'), ' ' ORDER BY pattern COLLATE "C") FROM hunt.pg_leakhunt_suppressions};
for my $database ('restored', 'copied')
{
	is($node->safe_psql($database, $suppressions),
		ask($node, $suppressions), "$database: the suppressions are there");
	is($node->safe_psql($database, $checked), 0, "$database: the suppressions work");
}

# A session in one database is seen from another, by its name.
my $session = $node->background_psql('copied');
my $pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(64, 1000)');
is( $node->safe_psql(
		'restored', qq{
		SELECT p.database, sum(r.live_bytes) FROM hunt.pg_leakhunt_processes p, hunt.pg_leakhunt_report($pid) r
		WHERE p.pid = $pid AND 'leaking_top' = ANY (functions(r.stack)) GROUP BY 1}),
	'copied|64000',
	'a session of another database is seen with its name');
$session->quit;

# On a standby everything that writes no table works.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$session = $standby->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(64, 1000)');
is( $standby->safe_psql(
		'postgres', qq{
		SELECT sum(live_bytes) FROM hunt.pg_leakhunt_report($pid) WHERE 'leaking_top' = ANY (functions(stack));
		SELECT count(*) FROM hunt.pg_leakhunt_suspects WHERE pid = $pid;
		SELECT count(*) FROM hunt.pg_leakhunt_contexts WHERE pid = $pid AND context_name = 'TopMemoryContext';
		SELECT hunt.pg_leakhunt_baseline($pid);
		SELECT hunt.pg_leakhunt_start($pid, 1);
		SELECT hunt.pg_leakhunt_flamegraph($pid) ~ 'leaking_top';
		SELECT sum(live_bytes) FROM hunt.pg_leakhunt_report(hunt.pg_leakhunt_dump($pid)) WHERE 'leaking_top' = ANY (functions(stack))}),
	"64000\n0\n1\n1\nt\nt\n64000",
	'figures, baselines, requests, pictures and dumps work on a standby');
is( $standby->safe_psql('postgres', q{SELECT count(*) > 0 FROM hunt.pg_leakhunt_check('SELECT leak_cache(64, 10)', 10, 2)}),
	't', 'checks work on a standby');
is($standby->safe_psql('postgres', $checked), 0, 'checks on a standby have the suppressions of the primary');
$session->quit;

# The same session goes on when the standby is promoted.
$session = $standby->background_psql('postgres');
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1; SELECT leak_top(64, 1000)');
$standby->promote;
$session->query_safe('SELECT leak_top(64, 1000)');
is(ask($standby, "SELECT sum(live_bytes) FROM hunt.pg_leakhunt_report($pid) WHERE 'leaking_top' = ANY (functions(stack))"),
	128_000, 'a session keeps its samples through a promotion');
$session->quit;
$standby->stop;

# What the program prints, run on the node's data directory.
sub postgres_says
{
	my ($input, @arguments) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'postgres', @arguments ], '<', \$input, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# Beside the server the program touches nothing of its; when the server has stopped,
# it works, and leaves nothing.
my @before = sort(profile_files($directory));
for my $arguments ([ '-D', $node->data_dir, '-C', 'shared_memory_size' ],
	[ '--single', '-D', $node->data_dir, 'postgres' ])
{
	my ($status, $out, $err) = postgres_says('', @$arguments);

	isnt($status, 0, "$arguments->[-1]: the program is refused beside the server");
	like($err, qr/lock file "postmaster.pid" already exists/, "$arguments->[-1]: the program is refused for the lock file");
}
($status, $out, $err) = postgres_says('', '-D', $node->data_dir, '-C', 'pg_leakhunt.sample_interval');
is("$status $out", "0 4096\n", 'a setting is printed beside the server');
ok(-e "$directory/" . (grep { /^control/ } @before)[0], "the server's files are there");
is(ask($node, "SELECT count(*) > 0 FROM hunt.pg_leakhunt_processes WHERE backend_type = 'checkpointer'"),
	't', "the server's files work after other programs");
$node->stop;
ok(!-e $directory, 'the server has removed its directory');
($status, $out, $err) = postgres_says('', '-D', $node->data_dir, '-C', 'shared_memory_size');
is($status, 0, 'a runtime-computed setting is printed by a stopped server');
unlike($err, qr/WARNING|pg_leakhunt/, 'a stopped server prints a setting without a message of ours');
($status, $out, $err) =
  postgres_says("SELECT leak_top(64, 1000)\nSELECT sum(live_bytes) AS bytes FROM hunt.pg_leakhunt_report(pg_backend_pid()) WHERE 'leaking_top' = ANY (functions(stack))\n",
	'--single', '-D', $node->data_dir, '-c', 'pg_leakhunt.sample_interval=1', 'postgres');
is($status, 0, 'single-user mode ends well');
like($out, qr/bytes = "64000"/, 'single-user mode has its figures');
($status, $out, $err) = postgres_says('', '--check', '-D', $node->data_dir);
is($status, 0, '--check ends well');
($status, $out, $err) = postgres_says('', '--describe-config');
is($status, 0, '--describe-config ends well');
ok(!-e $directory, 'no program leaves a directory');

unlike(slurp_file($_->logfile), qr/PANIC|terminated by signal|pg_leakhunt is inactive/, 'no process has crashed')
  for $node, $standby;
done_testing();
