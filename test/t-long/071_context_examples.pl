# What memory contexts are of: statements, indexes, functions, portals, in the view, in
# verdicts, to which roles, in a dump, and of a process that was killed.  Needs sessions of
# several roles, and the bytes of files.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $password = 'hunter2plh';
my $node = new_server('main', <<'CONF');
restart_after_crash = on
log_statement = none
log_min_error_statement = panic
max_locks_per_transaction = 512
pg_leakhunt.dump_min_bytes = 1MB
CONF
my $shared = profile_directory($node);

define_leakers($node);
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');

# A session whose contexts are counted when asked: what it does is sampled finely.
sub new_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = session_pid($session);

	$session->query('SET pg_leakhunt.sample_interval = 1024');
	return ($session, $pid);
}

# Wait until what contexts of a name are of has been found, while the session works: it is
# counted now and then, and looked at when they have changed.
sub likes_examples
{
	my ($session, $pid, $name, $expected, $test) = @_;
	my $query = "SELECT coalesce(max(array_to_string(examples, ' | ')), '') FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name = '$name'";
	my $text = '';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (1 .. 3 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$session->query("SELECT length(string_agg(i::text, ',')) FROM generate_series(1, 20000) i; SELECT pg_sleep(0.3)");
		$text = ask($node, $query);
		last if $text =~ $expected;
	}
	like($text, $expected, $test);
	return $text;
}

# Prepared statements: those of one shape are one, whatever their names and literals.
my ($session, $pid) = new_session();
$session->query(join '', map { "PREPARE statement_$_ AS SELECT c.relname FROM pg_class c WHERE c.relname = 'x$_';\n" } 1 .. 200);
$session->query(join '', map { "PREPARE other_$_ AS SELECT 1 AS one WHERE '$password' <> \$1;\n" } 1 .. 120);
$session->query(join '', map { "PREPARE secret_$_ AS UPDATE pg_authid SET rolpassword = '$password' WHERE false;\n" } 1 .. 120);
likes_examples($session, $pid, 'CachedPlanSource',
	qr/\b200 contexts \(\d+ kB\) such as PREPARE statement_\d+ AS SELECT c\.relname FROM pg_class c WHERE c\.relname = '\?'/,
	'prepared statements are told by what they have in common');
likes_examples($session, $pid, 'CachedPlanSource',
	qr/\b120 contexts \(\d+ kB\) such as PREPARE other_\d+ AS SELECT '\?' AS one WHERE '\?' <> \$1/,
	'literals are left out');
likes_examples($session, $pid, 'CachedPlanSource', qr/\b120 contexts \(\d+ kB\) such as PREPARE secret_\d+ AS UPDATE pg_authid SET rolpassword = '\?' WHERE false/,
	'a password in a prepared statement is left out');
likes_examples($session, $pid, 'CachedPlanQuery', qr/ such as PREPARE statement_/,
	'the query of a plan is of its statement');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_contexts WHERE pid = $pid AND context_name IN ('TopMemoryContext', 'CacheMemoryContext', 'ErrorContext') AND examples IS NOT NULL"),
	'0', 'of contexts with nothing but a name nothing is told');
is(slurp_file("$shared/$pid") =~ /rolpassword = '$password/ ? 1 : 0, 0, 'no password is in the profile');

# Other roles see none of it, the own role does.
my $seen = "SELECT count(*) FROM pg_leakhunt_contexts WHERE pid = $pid AND examples IS NOT NULL";
cmp_ok(ask($node, $seen), '>', 0, 'the role of a session sees what its contexts are of');
is($node->safe_psql('postgres', $seen, extra_params => [ '-U', 'plain' ]),
	'0', 'another role does not see what the contexts of a session are of');

# A dump has it, too.
my $dump = ask($node, "SELECT pg_leakhunt_dump($pid)");
my $dumped = slurp_file($node->data_dir . "/pg_leakhunt/$dump");
is($dumped =~ /PREPARE secret_\d+ AS UPDATE pg_authid SET rolpassword = '\?'/ ? 1 : 0, 1, 'a dump has what contexts are of');
is($dumped =~ /rolpassword = '$password/ ? 1 : 0, 0, 'no password is in a dump');

# When most of them are gone, the rest is told.
$session->query(join '', map { "DEALLOCATE statement_$_;\n" } 1 .. 200);
likes_examples($session, $pid, 'CachedPlanSource', qr/^(?!.*statement_)120 contexts/,
	'statements that were deallocated are told no more');
$session->quit;

# Indexes of many tables.
$node->safe_psql('postgres', join '', map { "CREATE TABLE orders_$_ (id int PRIMARY KEY, at int);\nCREATE INDEX ON orders_$_ (at);\n" } 1 .. 150);
($session, $pid) = new_session();
$session->query(join '', map { "SELECT count(*) FROM orders_$_ WHERE id > 0 AND at > 0;\n" } 1 .. 150);
likes_examples($session, $pid, 'index info', qr/\b150 contexts \(\d+ kB\) such as orders_\d+_pkey/, 'indexes of many tables are told by their names');
likes_examples($session, $pid, 'index info', qr/\b150 contexts \(\d+ kB\) such as orders_\d+_at_idx/, 'and those of another kind, too');
$session->quit;

# Functions, and the statements in them, which have no literals.
($session, $pid) = new_session();
$node->safe_psql('postgres', join '', map { <<SQL } 1 .. 120);
CREATE FUNCTION compute_$_(a int) RETURNS int LANGUAGE plpgsql AS \$\$
BEGIN
	PERFORM count(*) FROM pg_class WHERE relname = 'needle$_' AND reltuples > 12345;
	RETURN a;
END\$\$;
SQL
$session->query(join '', map { "SELECT compute_$_($_);\n" } 1 .. 120);
likes_examples($session, $pid, 'PL/pgSQL function', qr/^120 contexts \(\d+ kB\) such as compute_\d+\(integer\)$/,
	'functions are told by their signature');
likes_examples($session, $pid, 'CachedPlanSource',
	qr/\b120 contexts \(\d+ kB\) such as SELECT count\(\*\) FROM pg_class WHERE relname = '\?' AND reltuples > '\?'/,
	'statements in functions are told without literals');
is(slurp_file("$shared/$pid") =~ /needle\d/ ? 1 : 0, 0, 'the profile has no literal of a function');
$session->quit;

# Named portals.
($session, $pid) = new_session();
$session->query(join '', 'BEGIN;', map { "DECLARE cursor_$_ CURSOR FOR SELECT * FROM pg_class;\n" } 1 .. 200);
likes_examples($session, $pid, 'PortalContext', qr/\b200 contexts \(\d+ kB\) such as cursor_\d+/,
	'portals are told by their names');
$session->quit;

# Verdicts and explanations name them; and they are there when the process was killed.
($session, $pid) = new_session();
$session->query(join '', map { "PREPARE big_$_ AS SELECT a.*, b.*, c.* FROM pg_class a, pg_attribute b, pg_type c WHERE a.relname = 'x$_';\n" } 1 .. 1600);
likes_examples($session, $pid, 'CachedPlanSource', qr/about 1\d\d\d contexts \(\d+ MB\) such as PREPARE big_\d+ AS/,
	'of many contexts a part is looked at');
my @crashed;
my $said = qr/about 1\d\d\d contexts \(\d+ MB\) such as PREPARE big_\d+ AS SELECT/;
like(ask($node, "SELECT pg_leakhunt_explain($pid)"), $said, 'the explanation names what contexts are of');
$session->query_safe("SELECT leak_top(1000, 100)") for 1 .. 200;
my $explanation = ask($node, "SELECT pg_leakhunt_explain($pid)");
like($explanation, qr/$said.*Verdict: leak at leaking_top/s, 'so it does beside a verdict on something else');
is(scalar(() = $explanation =~ /\bContexts named "+CachedPlan/g), 1, 'and says so once');
kill 'KILL', $pid;
wait_for_server($node, $pid);
wait_until(sub { @crashed = glob($node->data_dir . "/pg_leakhunt/$pid.*.crash.profile") }, 'a killed process leaves a dump');
is((grep { slurp_file($_) =~ /PREPARE big_\d+ AS SELECT/ } @crashed) ? 1 : 0, 1,
	'what contexts were of stays when the process was killed');

# Texts of statements can be switched off; names of objects stay.
set_and_reload($node, 'pg_leakhunt.track_queries', 'off');
($session, $pid) = new_session();
$session->query(join '', map { "PREPARE untold_$_ AS SELECT c.relname FROM pg_class c;\n" } 1 .. 300);
$session->query(join '', map { "SELECT compute_$_($_);\n" } 1 .. 120);
likes_examples($session, $pid, 'PL/pgSQL function', qr/such as compute_/, 'functions are told without track_queries');
is(slurp_file("$shared/$pid") =~ /untold_\d+ AS/ ? 1 : 0, 0, 'no statement is told without track_queries');
$session->quit;
done_testing();
