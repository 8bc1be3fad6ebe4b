# pg_leakhunt_regress: what it finds in the tests of an extension, and what it leaves out.
# Needs files of tests, a server of the program's own, and psql's sessions.
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

write_test('define', $define);
write_test('leaks', "SELECT 1;\nSELECT leak_top(16, 1);\nSELECT 2;\n");
write_test('mended', "SELECT 1;\nSELECT allocate_in_balance(16, 1);\nSELECT fill_cache_once(100, 10);\n");
write_test('errors', "SELECT leak_cache(24, 2), 1 / (g - 1) FROM generate_series(1, 1) g;\nSELECT 1;\n");
write_test('errors_mended', "SELECT allocate_in_balance(24, 2), 1 / (g - 1) FROM generate_series(1, 1) g;\n");

my ($status, $stdout, $stderr) = run_it(qw(define leaks mended errors errors_mended));
is($status, 1, 'what grew makes an exit status of 1') or diag($stdout, $stderr);
is($stderr, '', 'nothing is said beside the results');
is( join("\n", $stdout =~ /^((?:not )?ok .*|1\.\..*|# \d+ call sites? grew.*)$/mg),
	"ok 1 - define\nnot ok 2 - leaks\nok 3 - mended\nnot ok 4 - errors\nok 5 - errors_mended\n1..5\n"
	  . '# 2 call sites grew in 2 files of 5.',
	'files with leaks fail, and those without do not');
like($stdout, qr/^not ok 2 - leaks\n# 16 bytes in 1 chunk per run, the same each time: leaking_top \(leaker\.c:\d+\)\n#   in TopMemoryContext\n#   statement: leaks\.sql:2: SELECT leak_top\(16, 1\);?\n#   pg_leakhunt_check: 16 bytes per call, when repeated by itself\n#   stack: leaking_top/m,
	'a leak has its size, function, context, statement and stack, and is confirmed');
like($stdout, qr/^# 48 bytes in 2 chunks per run, the same each time: leaking_in.*\n#   in CacheMemoryContext\n#   statement: errors\.sql:1: SELECT leak_cache.*\n#   pg_leakhunt_check: 48 bytes per call, when repeated by itself; each call raises an error: division by zero$/m,
	'a leak before an error is found, and the statement is repeated where it raises that');

# The document shows such a finding.
my ($shown) = slurp_file("$FindBin::RealBin/../../doc/ci.md") =~ /^```\n(not ok 1 - leaks\n.*?)^1\.\./ms;
ok($shown, 'doc/ci.md shows a finding');
for my $line (split /\n/, $shown // '')
{
	my $pattern = join '\d+', map { quotemeta } split /\d+/, $line =~ s/\.\.\.$//r;

	like($stdout, qr/^$pattern/m, "the program says what doc/ci.md shows: $line");
}

like($stdout, qr{^# There is no expected/leaks\.out to compare its output with\.$}m, 'it is told where no output is expected');

# A cache that is built anew after an invalidation leaks if what was there is forgotten.
write_test('forgets', "SELECT use_forgetting_cache();\n");
write_test('frees', "SELECT use_freeing_cache();\n");
write_test('contexts', "SELECT leak_empty_contexts(2);\n");
($status, $stdout) = run_it('--no-confirm', 'define', 'forgets', 'frees', 'contexts');
like($stdout, qr/^not ok 4 - contexts\n# 2 memory contexts per run: [\w ]+, in which nothing is allocated$/m, 'contexts without a call site are found');
like($stdout, qr/^not ok 2 - forgets\n# 200 bytes in 1 chunk per run, the same each time: rebuild /m,
	'a cache that forgets what it had is found, as the caches are reset between two runs');
like($stdout, qr/^ok 3 - frees$/m, 'one that frees it is not');

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
($status, $stdout) = run_it('tables', 'define');
is($status, 0, 'what PostgreSQL keeps of objects that are gone does not count') or diag($stdout);
like($stdout, qr/^# \d+ call sites? of what PostgreSQL itself keeps left out; --all lists them\.$/m, 'it is said to be left out');
unlike($stdout, $differs, 'each run does what the first has done');
write_test('kinds', slurp_file("$FindBin::RealBin/../regression/kinds.sql"));
($status, $stdout) = run_it('kinds', 'define');
unlike($stdout, qr/$differs|could not be put back/, 'objects of all kinds are gone before the next run');
unlike(slurp_file("$folder/results/kinds.out"), qr/ERROR/, 'and all were there');
is(ask($node, q{SELECT count(*) FROM pg_roles WHERE rolname = 'regress_leakhunt_role'}), '0', 'a role of the tests is gone');
is(ask($node, q{SELECT count(*) FROM pg_database WHERE datname ~ '^regression'}), '0', 'the databases are gone');

# A file that removes what files before it have made gets it again for each run.
write_test('make', "$define CREATE TABLE made (a int);\n");
write_test('drop', "DROP TABLE made;\nSELECT leak_top(8, 1);\nDROP FUNCTION leak_top;\n");
($status, $stdout) = run_it('make', 'drop');
is($status, 1, 'a leak is found in a file that drops what another has made') or diag($stdout);
like($stdout, qr/^# 8 bytes in 1 chunk per run, the same each time: leaking_top/m, 'with its figures');
unlike($stdout, $differs, 'and each run finds what the first has found');

# A session that the tested one has left in a transaction holds a lock.
write_test('locks', "CREATE EXTENSION dblink;\nCREATE TABLE locked (a int);\n"
	  . "SELECT dblink_connect('other', 'dbname=' || current_database() || ' host=${\$node->host} port=${\$node->port}');\n"
	  . "SELECT dblink_exec('other', 'BEGIN'), dblink_exec('other', 'LOCK locked');\nSELECT dblink_disconnect('other') WHERE false;\n");
SKIP:
{
	skip 'dblink is not installed', 2 unless ask($node, q{SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink'});
	($status, $stdout) = run_it('locks', 'define');
	like($stdout, qr/^ok 2 - define$/m, 'a lock of another session does not hold up what follows') or diag($stdout);
	unlike($stdout, qr/$differs: .*"locked"|could not be put back/, 'and the table that it has locked is gone before the next run');
}

# While an extension is dropped, PostgreSQL cannot drop an index any more that has options of
# its operator class.
write_test('options', "CREATE EXTENSION intarray;\nCREATE TABLE t (a int[]);\nCREATE INDEX ON t USING gist (a gist__int_ops (numranges = 252));\n");
SKIP:
{
	skip 'intarray is not installed', 1 unless ask($node, q{SELECT count(*) FROM pg_available_extensions WHERE name = 'intarray'});
	($status, $stdout) = run_it('options');
	unlike($stdout, $differs, 'an extension of which indexes have options is gone before the next run') or diag($stdout);
}

# What each run prints anew is told, as far as it can be read.
write_test('anew', "SELECT 1;\n\\pset format unaligned\nSELECT 'now ' || repeat('x', 300 + pg_current_xact_id()::text::int % 1000);\n");
($status, $stdout) = run_it('define', 'anew');
is($status, 0, 'an output that differs is no failure');
like($stdout, qr/$differs: line \d+ is: now x{193}\.\.\.$/m, 'but is told');

# A statement is repeated where the file has what it needs.
write_test('cleans', "CREATE TABLE gone (a int);\nINSERT INTO gone VALUES (16);\nSELECT leak_top(a, 1) FROM gone;\nDROP TABLE gone;\n");
($status, $stdout) = run_it('define', 'cleans');
like($stdout, qr/^#   statement: cleans\.sql:3: .*\n#   pg_leakhunt_check: 16 bytes per call, when repeated by itself$/m,
	'a statement is repeated before what it needs is gone');

write_test('connects', "SELECT leak_top(8, 1);\n\\c -\n");
($status, $stdout) = run_it('define', 'connects');
is($status, 0, 'a file that connects anew is no failure');
like($stdout, qr/^ok 2 - connects # SKIP it connects anew/m, 'and is said to be skipped');
$node->safe_psql('postgres', 'CREATE ROLE clerk LOGIN');
write_test('clerk', "SELECT leak_top(8, 1);\n\\c - clerk\n");
($status, $stdout) = run_it('define', 'clerk', 'leaks');
like($stdout, qr/^ok 2 - clerk # SKIP it connects anew.*^not ok 3 - leaks$/ms, 'so is one that does so as a role that may not be sampled, and the next is tested');

# What is known.
open my $known, '>', "$folder/known" or die $!;
print $known "# once per call, issue 17\nleak:leaking_top & context:TopMemoryContext\n";
close $known;
($status, $stdout) = run_it("--suppressions=$folder/known", 'define', 'leaks');
is($status, 0, 'what is suppressed does not count');
like($stdout, qr/^# 1 call site suppressed\.$/m, 'and is said to be');
($status, $stdout) = run_it("--suppressions=$folder/known", '--list-suppressions');
like($stdout, qr/^leaking_top & context:TopMemoryContext\n    once per call, issue 17$/m, 'suppressions are listed');

# JUnit
($status) = run_it("--junit=$folder/junit.xml", 'define', 'leaks', 'connects');
my $junit = slurp_file("$folder/junit.xml");
like($junit, qr/<testsuite name="pg_leakhunt_regress" tests="3" failures="1" errors="0" skipped="1" /, 'JUnit has the counts');
like($junit, qr/<testcase classname="pg_leakhunt_regress" name="leaks" time="[\d.]+"><failure message="16 bytes in 1 chunk per run/, 'and the finding');

# The output
open my $expected, '>', "$folder/expected/define.out" or die $!;
print $expected "something else\n";
close $expected;
($status, $stdout) = run_it('define');
like($stdout, qr/^# The output of the first run, \S+define\.out, is not the expected one\.$/m, 'an output that is not the expected one is told');

# What cannot be run
($status, $stdout, $stderr) = run_it('no_such_test');
is($status, 2, 'a test that is missing makes an exit status of 2');
like($stderr, qr/^pg_leakhunt_regress: there is no \S+no_such_test\.sql$/, 'and is named');
write_test('crashes', "SELECT pg_terminate_backend(pg_backend_pid());\nSELECT 1;\n");
($status, $stdout) = run_it('crashes');
is($status, 2, 'a session that ends makes an exit status of 2');
like($stdout, qr/^not ok 1 - crashes\n# the session ended: .*terminating connection/m, 'and is told');
write_test('missing', "CREATE EXTENSION no_such_extension;\nSELECT 1;\n");
($status, $stdout) = run_it('missing');
is($status, 2, 'an extension that is not installed makes an exit status of 2');
like($stdout, qr/^# what it tests is not installed: ERROR:  extension "no_such_extension" is not available$/m, 'and is named');
for my $wrong ([ "--junit=$folder/none/junit.xml", qr/could not write --junit=/ ], [ '--bindir=/no/such', qr{/no/such/\w+} ],
	[ "--temp-instance=$folder", qr/\Q$folder\E is not empty, and was not made by pg_leakhunt_regress, so it is left alone/ ],
	[ '--dbname=postgres', qr/could not prepare the database postgres: .*cannot drop the currently open database/ ],
	[ '--dbname=regression=x', '--encoding=BOGUS', qr/could not prepare the database regression=x: .*BOGUS/ ])
{
	my $pattern = pop @$wrong;

	($status, undef, $stderr) = run_it(@$wrong, 'define');
	is($status, 2, "@$wrong: an exit status of 2");
	like($stderr, qr/^pg_leakhunt_regress: .*$pattern/, 'in a sentence');
	unlike($stderr, qr/Traceback/, 'and in no language but ours');
}
ok(-e "$folder/sql/define.sql", 'what lies where a server was to be made is still there');
is(ask($node, q{SELECT count(*) FROM pg_database WHERE datname ~ 'regress'}), '0', 'no database is left of what could not be run');

# What does not belong to the tests
$node->safe_psql('postgres', "CREATE DATABASE regression_leakhunt");
$node->safe_psql('postgres', "CREATE DATABASE regression");
$node->safe_psql('regression', "CREATE TABLE precious ()");
{
	open my $services, '>', "$folder/services" or die $!;
	print $services "[production]\nhost=${\$node->host}\nport=${\$node->port}\n";
	close $services;
	local $ENV{PGSERVICEFILE} = "$folder/services";
	local $ENV{PGSERVICE} = 'production';
	($status, $stdout, $stderr) = run_it("--temp-instance=$folder/instance", 'define');
	is($status, 0, 'a server of its own is used, whatever the environment names') or diag($stdout, $stderr);
}
is($node->safe_psql('regression', "SELECT count(*) FROM pg_class WHERE relname = 'precious'"), '1', 'and nothing was done to the other one');
{
	my $other = $node->background_psql('postgres');

	write_test('waits', "SELECT pg_sleep(0.2);\nCREATE ROLE regress_of_the_test;\n");
	$other->query_safe('CREATE DATABASE regression_of_somebody');
	run_it('define', 'waits');
	is(ask($node, q{SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE datname ~ 'regress'}),
		'regression_leakhunt regression_of_somebody', 'databases beside that of the tests stay');
	$other->quit;
}
run_it('--use-existing', '--dbname=regression_of_somebody', '--create-role=regress_a,regress_b', 'define');
is(ask($node, q{SELECT count(*) FROM pg_roles WHERE rolname ~ '^regress'}), '0', 'roles that it has made are gone');
is($node->safe_psql('regression_of_somebody', "SELECT count(*) FROM pg_proc WHERE oid >= 16384"), '0', 'so is what it has made in a database that was there');
$node->safe_psql('regression_of_somebody', "CREATE TABLE precious AS SELECT 1 AS a");
write_test('inherits', "CREATE TABLE parent (a int);\nALTER TABLE precious INHERIT parent;\n");
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
{
	local $ENV{PGSERVICEFILE} = "$folder/services";
	local $ENV{PGSERVICE} = 'nowhere';
	append_to_file("$folder/services", "[nowhere]\nport=1\nhost=/nowhere\n");
	is((run_it('--host=' . $node->host, '--port=' . $node->port, 'define'))[0], 0, 'a host and a port that are given count more than a service');
}
write_test('ends', "SELECT 1;\n\\set ECHO none\n\\echo -n no end\n");
is((run_it('ends'))[0], 0, 'an output without an end of its last line is read');

# A server that crashes, files that read what is not there, and a program that is ended
write_test('kills', "COPY (SELECT 1) TO PROGRAM 'kill -9 \$PPID';\nSELECT 1;\n");
write_test('reads', "CREATE TEMP TABLE t (a text);\n\\copy t from pstdin\nSELECT 1;\n");
($status, $stdout) = run_it("--temp-instance=$folder/instance", 'define', 'kills', 'leaks', 'reads');
is($status, 2, 'a server that crashes makes an exit status of 2');
like($stdout, qr/^not ok 2 - kills\n# the session ended: .*^not ok 3 - leaks\n# 16 bytes.*^ok 4 - reads$/ms,
	'and the next tests are measured, as soon as it has recovered') or diag($stdout);
append_to_file("$folder/stays_down", "restart_after_crash = off\n");
($status, $stdout, $stderr) = run_it("--temp-instance=$folder/instance", "--temp-config=$folder/stays_down", 'define', 'kills', 'leaks');
is($status, 2, 'so does one that stays down');
like($stdout, qr/^not ok 2 - kills\n# the session ended: /m, 'the test that did it is told');
like($stderr, qr/^pg_leakhunt_regress: the server takes no connections any more: /, 'and why no further one is run');
{
	my ($output, $waited) = ('', 0);
	my $instance = "$folder/instance";

	write_test('waits', 'SELECT pg_sleep(60);');
	# they may be ignored here, as under nohup, and then are there
	local @SIG{qw(HUP INT)} = ('DEFAULT') x 2;
	my $run = IPC::Run::start([ 'pg_leakhunt_regress', "--inputdir=$folder", "--outputdir=$folder", "--bindir=$bindir", "--temp-instance=$instance", 'waits' ],
		'<', '/dev/null', '>&', \$output);
	until (-e "$instance/data/base" && -e "$instance/postmaster.log" && slurp_file("$instance/postmaster.log") =~ /pg_sleep|ready to accept/ || $waited++ > 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		select undef, undef, undef, 0.1;
	}
	$run->signal('HUP');
	$run->signal('INT');
	$run->finish;
	is($run->result, 2, 'a terminal that goes away ends it');
	is($output, "pg_leakhunt_regress: interrupted by SIGHUP\n", 'which it says');
	ok(!-e $instance, 'and nothing is left of its server');
}

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

	IPC::Run::run([ 'make', '-C', $extension, 'leakcheck', "PG_CONFIG=$bindir/pg_config" ], '<', '/dev/null', '>&', \$output);
	isnt($?, 0, 'make leakcheck fails where something grew') or diag($output);
	like($output, qr/^ok 1 - define$/m, 'it runs the tests of REGRESS');
	like($output, qr/^not ok 2 - leaks\n# 16 bytes in 1 chunk per run/m, 'and finds the leak, in a server of its own');
	ok(!-e "$extension/tmp_leakcheck", 'of which nothing is left');

	# directories of other tests come and go meanwhile, and files that only look like one
	my @left = grep { (eval { slurp_file("$_/README") } // '') =~ /\Q$extension\E/ } glob('/dev/shm/pg_leakhunt.*');
	is("@left", '', 'nor of its profiles');
	open my $handle, '>', "$extension/sql/leaks.sql" or die $!;
	print $handle "SELECT allocate_in_balance(16, 1);\n";
	close $handle;
	IPC::Run::run([ 'make', '-C', $extension, 'leakcheck', "PG_CONFIG=$bindir/pg_config" ], '<', '/dev/null', '>&', \$output);
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
