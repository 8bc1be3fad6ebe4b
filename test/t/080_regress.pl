# pg_leakhunt_regress with a server, with psql's sessions, and as documents call it: what it
# finds, and that what tests have made is gone.  All else is in test/regression/unit_tests.py.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use Cwd;
use File::Path 'make_path';
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my $folder = PostgreSQL::Test::Utils::tempdir;
my $leaker = $ENV{LEAKER};

# the program is installed beside psql
my ($bindir, undef) = run_command([ 'pg_config', '--bindir' ]);

# What files of tests have in common: functions of the fixture.
my $define = qq{
CREATE FUNCTION leak_top(int, bigint) RETURNS void AS '$leaker', 'leak_top' LANGUAGE C;
CREATE FUNCTION leak_cache(int, bigint) RETURNS void AS '$leaker', 'leak_cache' LANGUAGE C;
CREATE FUNCTION allocate_in_balance(int, bigint) RETURNS void AS '$leaker', 'allocate_in_balance' LANGUAGE C;
CREATE FUNCTION fill_cache_once(int, bigint) RETURNS void AS '$leaker', 'fill_cache_once' LANGUAGE C;
};

my $caches = $leaker =~ s/leaker$/rebuilt_cache/r;
$define .= qq{
CREATE FUNCTION leak_empty_contexts(bigint) RETURNS void AS '$leaker', 'leak_empty_contexts' LANGUAGE C;
CREATE FUNCTION use_forgetting_cache() RETURNS bool AS '$caches' LANGUAGE C;
CREATE FUNCTION use_freeing_cache() RETURNS bool AS '$caches' LANGUAGE C;
};

make_path("$folder/sql", "$folder/expected");

sub write_test
{
	my ($name, $text) = @_;

	open my $file, '>', "$folder/sql/$name.sql" or die $!;
	print $file $text;
	close $file;
}

# What is said of a file that does not do the same each time.
my $differs = qr/The output of a further run was not that of the first/;

# Run it on that server.  Returns its exit status, and what it prints.
sub run_it
{
	my @arguments = @_;
	my ($stdout, $stderr);

	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	IPC::Run::run([ 'pg_leakhunt_regress', "--inputdir=$folder", "--outputdir=$folder", "--bindir=$bindir", @arguments ],
		'<', '/dev/null', '>', \$stdout, '2>', \$stderr);
	return ($? >> 8, $stdout, $stderr);
}

write_test('define', $define . "CREATE TABLE made (a int);\nCREATE FUNCTION made(int, bigint) RETURNS void AS '$leaker', 'leak_top' LANGUAGE C;\n");

# A file that removes what files before it have made gets it again for each run.
write_test('drop', "DROP TABLE made;\nSELECT made(8, 1);\nDROP FUNCTION made;\n");

# What leaks: before an error, too; a cache that forgets what it had when it is built anew
# after an invalidation; and contexts.  And the same where nothing does.
write_test('leaks', "SELECT 1;\nSELECT leak_top(16, 1);\nSELECT 2;\n");
write_test('others', "SELECT leak_cache(24, 2), 1 / (g - 1) FROM generate_series(1, 1) g;\nSELECT 1;\n"
	  . "SELECT use_forgetting_cache();\nSELECT leak_empty_contexts(2);\n");
write_test('mended', "SELECT 1;\nSELECT allocate_in_balance(16, 1);\nSELECT fill_cache_once(100, 10);\n"
	  . "SELECT allocate_in_balance(24, 2), 1 / (g - 1) FROM generate_series(1, 1) g;\n"
	  . "SELECT use_freeing_cache();\n\\set ECHO none\n\\echo -n no end\n");

# What PostgreSQL keeps of objects that are gone; and all of them go.
write_test('tables',
	"CREATE TABLE t (a int PRIMARY KEY, b text);\nINSERT INTO t VALUES (1, 'x');\nSELECT * FROM t;\n"
	  . "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT max(a) FROM t); END';\nSELECT f();\n"
	  . "CREATE ROLE regress_leakhunt_role;\nCREATE VIEW v AS SELECT * FROM t;\nCREATE TABLE u (a int REFERENCES t);\nINSERT INTO u VALUES (1);\nDELETE FROM u;\nDELETE FROM t;\nSELECT lo_create(0) > 0;\n"
	  . "CREATE FOREIGN DATA WRAPPER w;\nCREATE SERVER s FOREIGN DATA WRAPPER w;\nCREATE USER MAPPING FOR PUBLIC SERVER s;\n"
	  . "CREATE TEXT SEARCH DICTIONARY d (template = simple);\nSELECT ts_lexize('d', 'x');\nCREATE TYPE e AS ENUM ('a', 'b');\nALTER TYPE e ADD VALUE 'aa' BEFORE 'b';\nSELECT 'a'::e < 'aa'::e;\nCREATE DOMAIN dom AS int CHECK (VALUE > 0);\nSELECT 1::dom;\n"
	  . "CREATE EVENT TRIGGER r ON ddl_command_start EXECUTE FUNCTION nothing();\n"
	  . "CREATE PUBLICATION p;\nCREATE STATISTICS st ON a, b FROM t;\nBEGIN;\nSELECT 1 / 0;\n\\t\n\\a\nROLLBACK;\n"
	  . "CREATE DATABASE regression_other;\nBEGIN;\nSELECT 1 / 0;\n");
write_test('kinds', slurp_file("$FindBin::RealBin/../regression/kinds.sql"));

# A session that the tested one has left in a transaction holds a lock.
my @modules = grep { ask($node, "SELECT count(*) FROM pg_available_extensions WHERE name = '$_'") } qw(dblink intarray);
write_test('dblink', "CREATE EXTENSION dblink;\nCREATE TABLE locked (a int);\n"
	  . "SELECT dblink_connect('other', 'dbname=' || current_database() || ' host=${\$node->host} port=${\$node->port}');\n"
	  . "SELECT dblink_exec('other', 'BEGIN'), dblink_exec('other', 'LOCK locked');\nSELECT dblink_disconnect('other') WHERE false;\n");

# While an extension is dropped, PostgreSQL cannot drop an index any more that has options of
# its operator class.
write_test('intarray', "CREATE EXTENSION intarray;\nCREATE TABLE optioned (a int[]);\nCREATE INDEX ON optioned USING gist (a gist__int_ops (numranges = 252));\n");

# A session that connects anew; as a role that may not be sampled, too.
write_test('connects', "SELECT leak_top(8, 1);\n\\c -\n");
$node->safe_psql('postgres', 'CREATE ROLE clerk LOGIN');
write_test('clerk', "SELECT leak_top(8, 1);\n\\c - clerk\n");

# What does not belong to the tests
$node->safe_psql('postgres', "CREATE DATABASE regression_leakhunt");
my $other = $node->background_psql('postgres');
$other->query_safe('CREATE DATABASE regression_of_somebody');

my @tests = (qw(define drop leaks others mended connects clerk), @modules, 'tables');
my ($status, $stdout, $stderr) = run_it('--runs=5', '--create-role=regress_a,regress_b', "--junit=$folder/junit.xml", @tests);
$other->quit;
is($status, 1, 'what leaks makes an exit status of 1') or diag($stdout, $stderr);
is($stderr, '', 'nothing is said beside the results');
is( join("\n", $stdout =~ /^((?:not )?ok [^#\n]*(?= #|$)|1\.\..*|# \d+ call sites? leaks?.*)/mg),
	join("\n", 'ok 1 - define', 'not ok 2 - drop', 'not ok 3 - leaks', 'not ok 4 - others',
		(map { "ok $_ - $tests[$_ - 1]" } 5 .. @tests), '1..' . @tests,
		'# 5 call sites leak in 3 files of ' . @tests . '.'),
	'files with leaks fail, and those without do not');

# What is said of each file, by its name.
my $found = $stdout;
my %said = $found =~ /^(?:not )?ok \d+ - (\w+)(.*?)(?=^(?:not )?ok \d|^1\.\.)/msg;

like($said{leaks}, qr/^\n# 16 bytes in 1 chunk lost, nothing points to it: leaking_top \(leaker\.c:\d+\)\n#   in TopMemoryContext\n#   statement: leaks\.sql:2: SELECT leak_top\(16, 1\);?\n#   pg_leakhunt_check: 16 bytes per call, when repeated by itself\n#   stack: leaking_top/,
	'a leak has its size, function, context, statement and stack, and is confirmed');
like($said{others}, qr/^# (?:48 bytes in 2 chunks|24 bytes in 1 chunk) lost, nothing points to (?:them|it): leaking_in.*\n#   in CacheMemoryContext\n#   statement: others\.sql:1: SELECT leak_cache.*\n#   pg_leakhunt_check: 48 bytes per call, when repeated by itself; each call raises an error: division by zero$/m,
	'a leak before an error is found, and the statement is repeated where it raises that');
like($said{others}, qr/^# 200 bytes in 1 chunk per run, the same each time: rebuild /m,
	'a cache that forgets what it had grows, as the caches are reset between two runs');
like($said{others}, qr/^# (?:1 memory context lost, nothing points to it|2 memory contexts lost, nothing points to them): leaker empty context$/m,
	'contexts without a call site are found');
like($said{tables}, qr/^# Not listed: \d+ call sites? at which PostgreSQL itself keeps memory, which is no leak of the extension; --all lists them\.$/m,
	'what PostgreSQL keeps of objects that are gone does not count, and is said to be left out');
unlike($said{tables}, qr/$differs|could not be put back/, 'each run does what the first has done, as all that it made is gone');
SKIP:
{
	skip 'dblink is not installed', 1 unless $said{dblink};
	# the connection is there still in further runs, and they say so
	unlike($said{dblink}, qr/$differs: .*"locked"|could not be put back/, 'a table that another session has locked, too');
}
SKIP:
{
	skip 'intarray is not installed', 1 unless $said{intarray};
	unlike($said{intarray}, qr/$differs|could not be put back/, 'and an extension of which indexes have options');
}
like($said{$_}, qr/^ # SKIP it connects anew/, "$_: a file that connects anew is skipped") for qw(connects clerk);
like($said{drop}, qr/^\n# 8 bytes in 1 chunk lost, nothing points to it: leaking_top/, 'a leak is found in a file that drops what another has made');
unlike($said{drop}, $differs, 'and each run finds what the first has found');
like($said{mended}, qr{^# There is no expected/mended\.out to compare its output with\.$}m, 'it is told where no output is expected');
like(slurp_file("$folder/junit.xml"), qr/<testsuite name="pg_leakhunt_regress" tests="${\scalar @tests}" failures="3" errors="0" skipped="2" /, 'JUnit has the same counts');
($status, $stdout) = run_it('--runs=5', 'kinds');
unlike($stdout, qr/$differs|could not be put back/, 'objects of all kinds are gone before the next run');
unlike(slurp_file("$folder/results/kinds.out"), qr/ERROR/, 'and all were there');
is(ask($node, q{SELECT count(*) FROM pg_roles WHERE rolname ~ '^regress'}), '0', 'roles of the tests, and those that it has made, are gone');
is(ask($node, q{SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE datname ~ 'regress'}),
	'regression_leakhunt regression_of_somebody', 'so are their databases, and none beside');

# Run once, a file shows what it has lost, and not what only grows.
($status, $stdout) = run_it('--no-confirm', 'define', 'leaks', 'others', 'mended', 'tables');
is($status, 1, 'a single run finds leaks');
is(join(',', $stdout =~ /^((?:not )?ok \d+)/mg), 'ok 1,not ok 2,not ok 3,ok 4,ok 5', 'in the files that have them');
like($stdout, qr/^# 16 bytes in 1 chunk lost, nothing points to it: leaking_top/m, 'to the byte');
unlike($stdout, qr/: rebuild|in which nothing is allocated/, 'what a cache forgets when it is built anew, and contexts, are found by more runs only');
is(ask($node, q{SELECT count(*) FROM pg_roles WHERE rolname ~ '^regress'}), '0', 'roles that a single run has made are gone, too');

# The document shows such a finding.
my ($shown) = slurp_file("$FindBin::RealBin/../../doc/ci.md") =~ /^```\n(not ok 1 - leaks\n.*?)^1\.\./ms;
ok($shown, 'doc/ci.md shows a finding');
for my $line (split /\n/, $shown // '')
{
	my $pattern = join '\d+', map { quotemeta } split /\d+/, $line =~ s/\.\.\.$//r;

	like($found, qr/^$pattern/m, "the program says what doc/ci.md shows: $line");
}

# Databases that are not to be had
for my $wrong ([ '--dbname=postgres', qr/could not prepare the database postgres: .*cannot drop the currently open database/ ],
	[ '--dbname=regression=x', '--encoding=BOGUS', qr/could not prepare the database regression=x: .*BOGUS/ ])
{
	my $pattern = pop @$wrong;

	($status, undef, $stderr) = run_it(@$wrong, 'define');
	is($status, 2, "@$wrong: an exit status of 2");
	like($stderr, qr/^pg_leakhunt_regress: .*$pattern/, 'in a sentence');
}
is(ask($node, q{SELECT count(*) FROM pg_database WHERE datname ~ 'regression='}), '0', 'no database is left of what could not be run');

# A database that was there, what somebody has made in it, and one that is in use.
$node->safe_psql('regression_of_somebody', "CREATE TABLE precious AS SELECT 1 AS a");
write_test('inherits', "CREATE TABLE parent (a int);\nALTER TABLE precious INHERIT parent;\n");
is((run_it('--use-existing', '--dbname=regression_of_somebody', 'define'))[0], 0, 'a database that was there may be used');
is($node->safe_psql('regression_of_somebody', "SELECT count(*) FROM pg_proc WHERE oid >= 16384"), '0', 'what is made in it is gone');
($status, $stdout, $stderr) = run_it('--use-existing', '--dbname=regression_of_somebody', 'inherits');
is($status, 2, 'a table that was there and depends on what a test has made ends the program');
like($stderr, qr/what a test has made cannot be dropped: table precious, which was there before, depends on it/, 'and is named');
is($node->safe_psql('regression_of_somebody', "SELECT a FROM precious"), '1', 'it is still there');
{
	my $user = $node->background_psql('regression_of_somebody');

	($status, undef, $stderr) = run_it('--dbname=regression_of_somebody', 'define');
	is($status, 2, 'a database that somebody uses is not dropped');
	like($stderr, qr/is being accessed by other users/, 'which is told');
	$user->quit;
}

# A server of its own, whatever the environment names.  It crashes; files read what is not
# there, and what they test is not installed.
$node->safe_psql('postgres', "CREATE DATABASE regression");
$node->safe_psql('regression', "CREATE TABLE precious ()");
write_test('kills', "COPY (SELECT 1) TO PROGRAM 'kill -9 \$PPID';\nSELECT 1;\n");
write_test('reads', "CREATE TEMP TABLE t (a text);\n\\copy t from pstdin\nCREATE EXTENSION no_such_extension;\nSELECT 1;\n");
{
	open my $services, '>', "$folder/services" or die $!;
	print $services "[production]\nhost=${\$node->host}\nport=${\$node->port}\n";
	close $services;
	local $ENV{PGSERVICEFILE} = "$folder/services";
	local $ENV{PGSERVICE} = 'production';
	($status, $stdout) = run_it("--temp-instance=$folder/instance", '--runs=5', '--no-confirm', 'define', 'kills', 'leaks', 'reads');
}
is($status, 2, 'a server that crashes makes an exit status of 2');
like($stdout, qr/^not ok 2 - kills\n# the session ended: .*^not ok 3 - leaks\n# 16 bytes/ms,
	'and the next tests are measured, as soon as it has recovered') or diag($stdout);
like($stdout, qr/^not ok 4 - reads\n.*^# what it tests is not installed: ERROR:  extension "no_such_extension" is not available$/ms,
	'an extension that is not installed is named');
ok(!-e "$folder/instance", 'nothing is left of the server');
is($node->safe_psql('regression', "SELECT count(*) FROM pg_class WHERE relname = 'precious'"), '1', 'and nothing was done to the other one');

# Three lines of an extension's Makefile, a server of its own, and malloc.
my $extension = "$folder/it's";
make_path("$extension/sql", "$extension/expected");
my ($lines) = slurp_file("$FindBin::RealBin/../../doc/ci.md") =~ /^```make\n(.*?)^```$/ms;
ok($lines, 'doc/ci.md has the lines of a Makefile');
for my $file ([ 'Makefile', "REGRESS = define leaks\nREGRESS_OPTS = --load-extension=plpgsql\n$lines" ],
	[ 'sql/define.sql', $define ], [ 'sql/leaks.sql', "SELECT leak_top(16, 1);\n" ])
{
	open my $handle, '>', "$extension/$file->[0]" or die $!;
	print $handle $file->[1];
	close $handle;
}
{
	my $output;

	IPC::Run::run([ 'make', '-C', $extension, 'leakcheck', "PG_CONFIG=$bindir/pg_config" ],
		'<', '/dev/null', '>&', \$output);
	isnt($?, 0, 'make leakcheck fails where something leaks') or diag($output);
	like($output, qr/^ok 1 - define$/m, 'it runs the tests of REGRESS');
	like($output, qr/^not ok 2 - leaks\n# 16 bytes in 1 chunk lost/m, 'and finds the leak, in a server of its own');
	ok(!-e "$extension/tmp_leakcheck", 'of which nothing is left');

	# directories of other tests come and go meanwhile, and files that only look like one; a
	# postmaster removes its own after its pid file, for whose end pg_ctl waits
	wait_until(sub { !grep { (eval { slurp_file("$_/README") } // '') =~ /\Q$extension\E/ } glob('/dev/shm/pg_leakhunt.*') },
		'nor of its profiles');
	open my $handle, '>', "$extension/sql/leaks.sql" or die $!;
	print $handle "SELECT allocate_in_balance(16, 1);\n";
	close $handle;

	# in a server that runs
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	IPC::Run::run([ 'make', '-C', $extension, 'leakcheck', "PG_CONFIG=$bindir/pg_config", 'LEAKCHECK_INSTANCE=' ],
		'<', '/dev/null', '>&', \$output);
	is($?, 0, 'make leakcheck succeeds once the leak is mended') or diag($output);
	ok(-e "$extension/output_leakcheck/results/define.out", 'the output of tests is kept');

	# without make
	my ($command) = slurp_file("$FindBin::RealBin/../../doc/ci.md") =~ /^```sh\n(.*pg_leakhunt_regress.*)\n```$/m;
	$command =~ s/first_test second_test/define leaks/;
	IPC::Run::run([ 'sh', '-c', 'cd "$0" && ' . $command, $extension ], '<', '/dev/null', '>&', \$output,
		init => sub { $ENV{PATH} = "$bindir:$ENV{PATH}" });
	is($?, 0, 'the command of doc/ci.md runs the same tests') or diag($output);
	like($output, qr/^ok 2 - leaks$/m, 'with the same result');
	IPC::Run::run([ 'make', '-C', $extension, 'clean', "PG_CONFIG=$bindir/pg_config" ], '<', '/dev/null', '>&', \$output);
	ok(!-e "$extension/output_leakcheck", 'make clean removes it');
}

done_testing();
