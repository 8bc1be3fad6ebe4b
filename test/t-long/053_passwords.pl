# Passwords in the text of statements: no file, line of the log, view or picture has them.
# Needs the bytes of files, dumps of each reason, and processes that are killed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# In each statement below; nothing else has these bytes.
my $password = 'hunter2plh';

# The server itself would log the text of statements, and quote them in errors.
my $node = new_server('main', <<'CONF');
restart_after_crash = on
log_statement = none
log_min_error_statement = panic
log_min_messages = log
pg_leakhunt.keeper_interval = 200ms
pg_leakhunt.dump_min_bytes = 1MB
pg_leakhunt.dump_growth = 10MB
pg_leakhunt.statement_min_bytes = 0
CONF
my $shared = profile_directory($node);
my $dumps = $node->data_dir . '/pg_leakhunt';

# Statements, and what is kept of each.
my @cases = (
	[ "CREATE ROLE r1 LOGIN PASSWORD '$password'", 'CREATE ROLE ...' ],
	[ "CREATE USER r2 ENCRYPTED PASSWORD '$password'", 'CREATE USER ...' ],
	[ "CREATE GROUP r3 PASSWORD '$password'", 'CREATE GROUP ...' ],
	[ "ALTER ROLE r1 PASSWORD '$password'", 'ALTER ROLE ...' ],
	[ "ALTER USER r2 PASSWORD 'SCRAM-SHA-256\$4096:$password\$a:b'", 'ALTER USER ...' ],
	[ "ALTER ROLE r1 SET app.key = '$password'", 'ALTER ROLE ...' ],
	[ "CREATE FOREIGN DATA WRAPPER w OPTIONS (key '$password')", 'CREATE FOREIGN DATA WRAPPER ...' ],
	[ "ALTER FOREIGN DATA WRAPPER w OPTIONS (SET key '$password')", 'ALTER FOREIGN DATA WRAPPER ...' ],
	[ "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (key '$password')", 'CREATE SERVER ...' ],
	[ "ALTER SERVER s OPTIONS (SET key '$password')", 'ALTER SERVER ...' ],
	[ "CREATE USER MAPPING FOR r1 SERVER s OPTIONS (password '$password')", 'CREATE USER MAPPING ...' ],
	[ "ALTER USER MAPPING FOR r1 SERVER s OPTIONS (SET password '$password')", 'ALTER USER MAPPING ...' ],
	[ "CREATE FOREIGN TABLE ft (a int) SERVER s OPTIONS (key '$password')", 'CREATE FOREIGN TABLE ...' ],
	[ "ALTER FOREIGN TABLE ft OPTIONS (SET key '$password')", 'ALTER FOREIGN TABLE ...' ],
	[ "ALTER TABLE ft OPTIONS (SET key '$password')", 'ALTER TABLE ft OPTIONS ...' ],
	[ "IMPORT FOREIGN SCHEMA a FROM SERVER s INTO public OPTIONS (key '$password')", 'INTO public OPTIONS ...' ],
	[ "CREATE SUBSCRIPTION sub CONNECTION 'password=$password' PUBLICATION p WITH (connect = false)", 'CREATE SUBSCRIPTION ...' ],
	[ "ALTER SUBSCRIPTION sub CONNECTION 'password=$password'", 'ALTER SUBSCRIPTION ...' ],
	[ "COPY pg_class TO PROGRAM 'true $password'", 'COPY pg_class TO PROGRAM ...' ],
	[ "ALTER SYSTEM SET primary_conninfo = 'password=$password'", 'ALTER SYSTEM ...' ],
	[ "ALTER DATABASE postgres SET app.key = '$password'", 'ALTER DATABASE ...' ],
	[ "SET app.key = '$password'", 'SET ...' ],
	[ "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS \$\$BEGIN EXECUTE 'ALTER ROLE r1 PASSWORD ''$password'''; END\$\$", 'CREATE FUNCTION ...' ],
	[ "ALTER FUNCTION f() SET app.key = '$password'", 'ALTER FUNCTION ...' ],
	[ "DO \$\$BEGIN EXECUTE 'ALTER ROLE r1 PASSWORD ''$password'''; END\$\$", 'DO ...' ],
	[ "DO 'BEGIN EXECUTE ''ALTER ROLE r1 PASS'' || ''WORD ''''$password''''''; END'", 'DO ...' ],
	[ "PREPARE set_it AS UPDATE pg_authid SET rolpassword = '$password' WHERE false", "SET rolpassword = '?' WHERE false" ],
	[ "PREPARE p(text) AS SELECT length(\$1)", 'PREPARE p(text)' ],
	[ "EXECUTE p('$password')", "EXECUTE p('?')" ],
	[ "EXPLAIN EXECUTE p('$password')", "EXPLAIN EXECUTE p('?')" ],
	[ "EXPLAIN SELECT '$password' AS password", "EXPLAIN SELECT '?' AS password" ],
	[ "SELECT length('host=a password=$password')", 'SELECT length(...' ],
	[ "SELECT set_config('primary_conninfo', '$password', false)", 'SELECT set_config(...' ],
	[ "SELECT 1\\; ALTER ROLE r1 PASSWORD '$password'", "SELECT '?'; ALTER ROLE ..." ],
	[ "/* new: $password */ ALTER /* $password */ ROLE r1 PASSWORD '$password'", 'ALTER ROLE ...' ],
	[ "ALTER ROLE r1 PASSWORD E'a\\'\\;$password'\\; SELECT 'after', 1 AS e_string", "SELECT '?', '?' AS e_string" ],
	[ "ALTER ROLE r1 PASSWORD \$x\$a'\\;$password\$x\$\\; SELECT 1 AS dollars", "SELECT '?' AS dollars" ],
	[ "ALTER ROLE r1 PASSWORD U&'\\00e4\\;$password'\\; SELECT 1 AS unicode", "SELECT '?' AS unicode" ],
	[ "ALTER ROLE r1 PASSWORD '\xc3\xa4$password\xe4\xb8\xad'\\; SELECT 1 AS multibyte", "SELECT '?' AS multibyte" ],
	[ "ALTR ROLE r1 PASSWORD '$password'", '...' ],
	[ "$password", '...' ],
	[ "ALTER ROLE r1 PASSWORD $password", 'ALTER ROLE ...' ],
	[ "SELECT 1 AS forgotten ALTER ROLE r1 PASSWORD '$password'", 'AS forgotten ALTER ROLE ...' ],
	[ "SELECT 1 AS long, '" . 'x' x 990 . "'\\; ALTER ROLE r1 PASSWORD '$password'", 'AS long' ]);

# The last statement holds most, and so stands in the log.
my $holding = "SELECT leak_top(1000, 20000)\\; ALTER ROLE r1 PASSWORD '$password'";

# What the profile has of a statement, and the password, once that has run.  Later its
# record may be used again.
sub check_profile
{
	my ($pid, $kept) = @_;
	my $profile = slurp_file("$shared/$pid");

	ok(index($profile, $kept) >= 0, "the profile has what a statement was: $kept");
	has_no_password($profile, "the profile has no password: $kept");
}

# A session that has run all of these, some of which are errors.
sub session_with_secrets
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = session_pid($session);

	$session->query('SET pg_leakhunt.sample_interval = 1');
	for my $case (@cases)
	{
		$session->query($case->[0]);
		check_profile($pid, $case->[1]);
	}
	$session->query($holding);
	return ($session, $pid);
}

# The files of a directory that have the password, without the path.  One that is being
# written may have another name by now.
sub files_with_password
{
	my ($directory) = @_;

	return join ' ', map { s{.*/}{}r } grep { (eval { slurp_file($_) } // '') =~ /$password/ } grep { -f } glob("$directory/*");
}

sub has_no_password
{
	my ($text, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($text !~ /$password/, $name) or diag($text =~ /(.{0,60}$password.{0,20})/);
}

# The dumps of a process that were made for a reason: they must be there.
sub check_dumps
{
	my ($pid, $reason) = @_;
	my @files = split /\n/, ask($node, "SELECT file FROM _pg_leakhunt_dumps() WHERE pid = $pid AND reason = '$reason'");

	cmp_ok(scalar(grep { slurp_file("$dumps/$_") =~ /ALTER ROLE \.\.\./ } @files),
		'>', 0, "a dump has statements: $reason");
	dump_text("$dumps/$_") for @files;
	is(files_with_password($dumps), '', "no dump, and no text of one, has a password: $reason");
	has_no_password(
		ask($node, "SELECT pg_leakhunt_folded('$files[0]', query => true) || (SELECT string_agg(d::text, '') FROM pg_leakhunt_report('$files[0]') d)"),
		"what is made of a dump has no password: $reason");
}

my ($session, $pid) = session_with_secrets();
is(files_with_password($shared), '', 'no file in /dev/shm has a password');

# Whatever shows statements; each must show some.
my %shown = (
	pg_leakhunt_report => "SELECT string_agg(r::text, '') FROM pg_leakhunt_report r",
	pg_leakhunt_statements => "SELECT string_agg(s::text, '') FROM pg_leakhunt_statements s",
	pg_leakhunt_explain => "SELECT 'ALTER ROLE ...', string_agg(e::text, '') FROM pg_leakhunt_explain() e",
	pg_leakhunt_suspects => "SELECT 'ALTER ROLE ...', string_agg(s::text, '') FROM pg_leakhunt_suspects s",
	pg_leakhunt_heap => "SELECT pg_leakhunt_heap($pid)",
	pg_leakhunt_folded => "SELECT pg_leakhunt_folded($pid, query => true)",
	pg_leakhunt_folded_of_all => q{SELECT pg_leakhunt_folded('all', query => true)},
	pg_leakhunt_flamegraph => "SELECT pg_leakhunt_flamegraph($pid, query => true)",
	pg_leakhunt_flamegraph_of_all => q{SELECT pg_leakhunt_flamegraph('all', query => true)},
	pg_leakhunt_page => "SELECT pg_leakhunt_page($pid)",
	pg_leakhunt_page_of_server => "SELECT 'ALTER ROLE ...', pg_leakhunt_page()",
	pg_leakhunt_pprof => "SELECT 'ALTER ROLE ...', encode(pg_leakhunt_pprof($pid, labels => '{memory_context,query_id}'), 'escape')",
	pg_leakhunt_metrics => "SELECT 'ALTER ROLE ...', string_agg(m::text, '') FROM _pg_leakhunt_metrics() m");
ask_in_one_session(
	$node,
	sub {
		for my $name (sort keys %shown)
		{
			my $text = ask($node, $shown{$name});

			like($text, qr/ALTER ROLE \.\.\./, "$name shows statements");
			has_no_password($text, "$name shows no password");
		}
		ask($node, "SELECT pg_leakhunt_baseline($pid)");
		is(files_with_password($shared), '', 'a baseline has no password');
		ask($node, "SELECT pg_leakhunt_dump($pid, true)");
	});
check_dumps($pid, 'manual');
check_dumps($pid, 'growth');

$session->quit;
is(problem_at_exit($node, $pid), undef, 'a session with secrets ends');
check_dumps($pid, 'exit');
like(slurp_file($node->logfile), qr/  Statement: SELECT leak_top\('\?', '\?'\); ALTER ROLE \.\.\.;\n/,
	'the log has what is kept of the statement at an exit');

my ($victim, $victim_pid) = session_with_secrets();
kill 'KILL', $victim_pid;
wait_for_server($node, $victim_pid);
wait_until(sub { scalar grep { /^\Q$victim_pid\E\..*saved$/ } profile_files($shared) }, 'its profile is saved');
check_dumps($victim_pid, 'crash');
is(files_with_password($shared), '', 'what is left of a crash has no password');
like(slurp_file($node->logfile), qr/It crashed.*  Statement: SELECT leak_top\('\?', '\?'\); ALTER ROLE \.\.\.;\n/,
	'the log has what is kept of the statement at a crash');

# the server itself says what the killed process was running
has_no_password(slurp_file($node->logfile) =~ s/DETAIL:  Failed process was running: .*//r, 'the log has no password');

$node->stop;
done_testing();
