# Names from each kind of symbols that a binary may have, with libdw and without it, and
# the debuginfod servers that are asked.  Needs binaries of its own, and servers with
# other libraries and environments.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('gcc', 'nm', 'objcopy', 'objdump', 'readelf', 'strip');
my $frames = "$FindBin::RealBin/../unit/frames";
my $scratch = PostgreSQL::Test::Utils::tempdir();
$ENV{ASAN_OPTIONS} = 'detect_leaks=0';
delete $ENV{DEBUGINFOD_URLS};

# A library of that name without any function stands for one that is not installed.
my $without = "$scratch/without";
mkdir $without or die $!;
append_to_file("$scratch/nothing.c", "int nothing;\n");
command_ok([ 'gcc', '-shared', '-o', "$without/libdw.so.1", "$scratch/nothing.c" ],
	'a library that stands for none is built');

sub output_of
{
	my ($input, @command) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(\@command, '<', \$input, '>', \$out, '2>', \$err);
	return $out;
}

sub build_id
{
	return output_of('', 'readelf', '-n', $_[0]) =~ /Build ID: (\w+)/ ? $1 : '';
}

# What is printed of addresses of a file, by libdw or without it.
sub frames_of
{
	my ($file, $addresses, $hidden) = @_;
	local $ENV{LD_LIBRARY_PATH} =
	  $hidden ? join(':', $without, $ENV{LD_LIBRARY_PATH} // ()) : $ENV{LD_LIBRARY_PATH};
	delete $ENV{LD_LIBRARY_PATH} if !defined $ENV{LD_LIBRARY_PATH};

	return output_of(join("\n", map { sprintf '0x%x', $_ } @$addresses), $frames, $file, build_id($file));
}

# A static function with an inlined one, and an exported function that calls it.
append_to_file("$scratch/names.c", <<'C');
extern void *malloc(unsigned long);
static inline __attribute__((always_inline)) void *
inner(long bytes) { return malloc(bytes); }
static __attribute__((noinline)) void *
hidden(long bytes) { void *kept = inner(bytes); return kept ? inner(bytes + 1) : kept; }
void *
visible(long bytes) { return hidden(bytes) ? hidden(bytes + 1) : 0; }
C
append_to_file("$scratch/more.c", "struct { long a; char b[40]; struct { int c; } d; } more;\nvoid *visible(long);\nvoid *others(long bytes) { return visible(bytes); }\n");

# The library, built with options; what it is called, and where calls return to in the
# functions, minus one.
sub build
{
	my ($name, @options) = @_;
	my $directory = "$scratch/$name";
	my (%sites, $function);

	mkdir $directory or die $!;
	command_ok(
		[
			'gcc', '-O1', '-shared', '-fPIC', '-Wl,--build-id', @options, '-o', "$directory/names.so",
			"$scratch/names.c", "$scratch/more.c"
		],
		"$name: a library is built");
	my $after_call = 0;
	for (split /\n/, output_of('', 'objdump', '-d', '--no-show-raw-insn', "$directory/names.so"))
	{
		$function = $1 if /^[0-9a-f]+ <(\w+)>:/;
		next if !/^\s*([0-9a-f]+):\s+(\S+)/;
		push @{ $sites{$function} }, hex($1) - 1 if $after_call;
		$after_call = $2 =~ /^(call|bl)/;
	}
	return ("$directory/names.so", $sites{hidden}[0], $sites{visible}[0]);
}

my $with_inlined = qr{^inner\nnames\.c:3\nhidden\nnames\.c:5$}m;
my $symbol_table = qr{^source 2$}m;
my $dynamic_symbols = qr{^source 1$}m;

# Debug information in the binary, and split off into .dwo files.
for my $kind ([ 'whole' ], [ 'split-4', '-gdwarf-4', '-gsplit-dwarf' ], [ 'split-5', '-gdwarf-5', '-gsplit-dwarf' ])
{
	my ($name, @options) = @$kind;
	my ($file, $hidden, $visible) = build($name, '-g', @options);

	like(frames_of($file, [$hidden]), $with_inlined, "$name: inlined and static functions are named");
	next if !@options;
	command_ok([ 'objcopy', '--only-keep-debug', $file, "$file.debug" ], "$name: a debug file is made");
	command_ok([ 'strip', $file ], "$name: the library is stripped");
	command_ok([ 'objcopy', "--add-gnu-debuglink=$file.debug", $file ], "$name: the library names its debug file");
	like(frames_of($file, [$hidden]), $with_inlined, "$name: a stripped library finds its .dwo files by its debug file");
	unlink glob("$scratch/$name/*.dwo");
	like(frames_of($file, [$hidden]), qr{^hidden\nnames\.c:3$}m, "$name: without .dwo files there is the function of the symbol table");
}

# What two files have in common, in a third one.
SKIP:
{
	skip 'no dwz', 4 if !has_program('dwz');
	my ($file, $hidden) = build('dwz', '-g');
	command_ok([ 'cp', $file, "$scratch/dwz/copy.so" ], 'dwz: a second file');
	command_ok([ 'dwz', '-m', "$scratch/dwz/common.debug", $file, "$scratch/dwz/copy.so" ], 'dwz: a common file is made');
	like(frames_of($file, [$hidden]), $with_inlined, 'dwz: names are found in the common file');
}

# The symbols of the functions alone, compressed, in a stripped binary.
my ($mini, $hidden_in_mini);
SKIP:
{
	skip 'no xz', 4 if !has_program('xz');
	($mini, $hidden_in_mini) = build('mini');
	my @kept = map { ('-K', $_) } output_of('', 'nm', $mini) =~ / [tT] (\w+)$/gm;
	system('objcopy', '-S', @kept, $mini, "$mini.symbols") == 0 or die;
	system('xz', "$mini.symbols") == 0 or die;
	system('strip', $mini) == 0 or die;
	command_ok([ 'objcopy', '--add-section', ".gnu_debugdata=$mini.symbols.xz", $mini ], 'mini: symbols are packed into the library');
	for my $without_libdw (0, 1)
	{
		my $said = frames_of($mini, [$hidden_in_mini], $without_libdw);
		my $how = $without_libdw ? 'without libdw' : 'by libdw';

		like($said, qr{^hidden\n\?\?:0$}m, "mini: static functions are named $how");
		like($said, $symbol_table, "mini: it counts as a symbol table $how");
	}
}

# Without libdw: each table has what it has, and no more.
my ($file, $hidden, $visible) = build('tables', '-g');
like(frames_of($file, [ $hidden, $visible ], 1), qr{^source 2\n0x[0-9a-f]+\nhidden\n\?\?:0\n0x[0-9a-f]+\nvisible\n\?\?:0$},
	'without libdw, a symbol table names static and exported functions');
system('strip', $file) == 0 or die;
like(frames_of($file, [ $hidden, $visible ], 1), qr{^source 1\n0x[0-9a-f]+\n0x[0-9a-f]+\nvisible\n\?\?:0$},
	'without libdw, dynamic symbols name exported functions, and static ones get no neighbour\'s name');

SKIP:
{
	skip 'no debug file could be installed', 1 if !$ENV{DEBUG_FILE};
	my ($top) = output_of('', 'nm', "$ENV{LEAKER}.so") =~ /^([0-9a-f]+) t leaking_top$/m;

	like(frames_of($ENV{STRIPPED}, [ hex($top) + 1 ], 1), qr{^source 2\n0x[0-9a-f]+\nleaking_top\n\?\?:0$},
		'without libdw, the debug file of the build-id names static functions');
}

# Without libdw each address of the server has the name that libdw gives it.
my ($bindir) = output_of('', $ENV{PG_CONFIG}, '--bindir') =~ /(.*)/;
my ($start, $bytes) =
  output_of('', 'readelf', '-SW', "$bindir/postgres") =~ /\s\.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)/;
srand(1);
my @addresses = map { hex($start) + int(rand(hex $bytes)) } 1 .. 5000;
my $by_libdw = frames_of("$bindir/postgres", \@addresses);
my $by_ours = frames_of("$bindir/postgres", \@addresses, 1);
SKIP:
{
	skip 'the server has debug information', 2 if $by_libdw =~ /^source 3$/m;
	is($by_ours, $by_libdw, '5000 addresses of the server have the names that libdw gives them');
	cmp_ok(scalar(() = $by_ours =~ /^\?\?:0$/mg), '>', 500, 'and there are names');
}

# Damaged files, without libdw: an answer or none, but no damage to us.
my $original = slurp_file($mini // $file);
my $bad = 0;
for my $round (1 .. rounds(50))
{
	my $damaged = $original;
	if ($round % 3 == 0) { $damaged = substr($original, 0, int(rand(length $original))); }
	else
	{
		substr($damaged, int(rand(length $damaged)), 1) = chr(int(rand(256))) for 1 .. 100;
	}
	unlink "$scratch/damaged.so";
	append_to_file("$scratch/damaged.so", $damaged);
	local $ENV{LD_LIBRARY_PATH} = $without;
	my ($out, $err) = ('', '');
	my $input = sprintf '0x%x', $hidden;
	IPC::Run::run([ $frames, "$scratch/damaged.so", build_id($file) ], '<', \$input, '>', \$out, '2>', \$err);
	$bad++ if $err =~ /AddressSanitizer|runtime error/ || $? & 127;
}
is($bad, 0, 'damaged files do no damage to their reader');

# A server without libdw.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\npg_leakhunt.sample_interval = 1\n");
{
	local $ENV{LD_LIBRARY_PATH} = join ':', $without, $ENV{LD_LIBRARY_PATH} // ();
	$node->start;
}
define_leakers($node);
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe('SELECT leak_top(100, 50)');
my ($rows, $out, $err) = $node->psql(
	'postgres', qq{
	SELECT array_to_string(stack, ' / ') FROM pg_leakhunt_report
	WHERE pid = $pid AND query LIKE 'SELECT leak_top%' ORDER BY live_bytes DESC LIMIT 1});
like($out, qr{^leaking_top / leak_top / }, 'a server without libdw names functions');
is($err, '', 'a server without libdw does not complain about it');
like(
	$node->safe_psql('postgres', "SELECT source || '|' || hint FROM pg_leakhunt_symbols WHERE path = '$ENV{LEAKER}.so'"),
	qr{^symbol table\|Install elfutils' library libdw },
	'the view of symbols says what libdw would add');
$session->quit;
$node->stop;

# Servers of debug files: which are asked, by the setting and the environment.  A module
# is stripped, and a directory has its debug file.
SKIP:
{
	skip 'no debuginfod, or no curl', 12 if !-x '/usr/bin/debuginfod' || !has_program('curl');
	my $corner_cases = ($ENV{LEAKER} =~ s/leaker$/corner_cases/r) . '.so';
	my $module = "$scratch/corner_cases.so";
	mkdir "$scratch/served" or die $!;
	system('objcopy', '--only-keep-debug', $corner_cases, "$scratch/served/corner_cases.debug") == 0 or die;
	system('strip', '-o', $module, $corner_cases) == 0 or die;

	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $server = IPC::Run::start(
		[ 'debuginfod', '-vv', '-F', '-p', $port, '-d', ':memory:', '-t', '1', "$scratch/served" ],
		'>', "$scratch/debuginfod.log", '2>&1');
	wait_until(
		sub { output_of('', 'curl', '-sf', "http://127.0.0.1:$port/buildid/" . build_id($module) . '/debuginfo') },
		'debuginfod has the debug file');

	my $url = "http://127.0.0.1:$port";
	my $round = 0;
	my $is_named = sub {
		my ($setting) = @_;
		my $holder = $node->background_psql('postgres');
		my $holder_pid = session_pid($holder);

		$holder->query_safe("CREATE OR REPLACE FUNCTION hold_there(bigint) RETURNS void AS '$module', 'hold_huge' LANGUAGE C STRICT");
		$holder->query_safe('SELECT hold_there(1000000)');
		my $stack = $node->safe_psql(
			'postgres', qq{
			SET pg_leakhunt.debuginfod_urls = '$setting';
			SELECT array_to_string(stack, ' / ') FROM pg_leakhunt_report
			WHERE pid = $holder_pid AND query LIKE 'SELECT hold_there%' ORDER BY live_bytes DESC LIMIT 1});
		$holder->quit;
		return $stack =~ m{^hold_huge \(corner_cases\.c:\d+\)} ? 'named with its line' :
		  $stack =~ m{^hold_huge / } ? 'named' : $stack;
	};
	my $requests = sub { scalar(() = slurp_file("$scratch/debuginfod.log") =~ m{GET /buildid/}g) };
	my $restart_with = sub {
		my ($environment) = @_;

		$node->stop('fast', fail_ok => 1);
		local $ENV{DEBUGINFOD_CACHE_PATH} = "$scratch/cache" . $round++;
		local $ENV{DEBUGINFOD_URLS} = $environment;
		delete $ENV{DEBUGINFOD_URLS} if $environment eq '';
		$node->start;
	};

	$restart_with->('');
	my $before = $requests->();
	is($is_named->(''), 'named', 'nobody is asked by default');
	is($is_named->('none'), 'named', 'nobody is asked with "none"');
	is($requests->(), $before, 'no server was asked');
	is($is_named->($url), 'named with its line', 'the servers of the setting are asked');
	cmp_ok($requests->(), '>', $before, 'the server was asked');

	$restart_with->($url);
	$before = $requests->();
	is($is_named->('none'), 'named', '"none" asks nobody, whatever the environment says');
	is($requests->(), $before, 'no server was asked, though the environment names one');
	is($is_named->('system'), 'named with its line', '"system" asks those of the environment first');

	$restart_with->($url);
	is($is_named->(''), 'named with its line', 'the servers of the environment are asked by default');

	# the same session, after its setting has changed
	$restart_with->('');
	my $asker = $node->background_psql('postgres');
	my $asker_pid = session_pid($asker);
	$asker->query_safe('SELECT hold_there(1000000)');
	my $question = qq{
		SELECT stack[1] FROM pg_leakhunt_report
		WHERE pid = $asker_pid AND query LIKE 'SELECT hold_there%' ORDER BY live_bytes DESC LIMIT 1};
	is($asker->query_safe($question), 'hold_huge', 'a session has got an answer');
	$asker->query_safe("SET pg_leakhunt.debuginfod_urls = '$url'");
	like($asker->query_safe($question), qr{^hold_huge \(corner_cases\.c:}, 'a session that asks other servers forgets what it knew');
	$asker->quit;
	$server->kill_kill;
}
$node->start if !defined $node->{_pid};

# A static function of a stripped module: who calls it, and once what to do.
SKIP:
{
	my $stripped = "$scratch/stripped.so";
	system('strip', '-R', '.gnu_debuglink', '-o', $stripped, "$ENV{LEAKER}.so") == 0 or die;
	# the debug file would be found by the build-id
	system('objcopy', '-R', '.note.gnu.build-id', $stripped) == 0 or die;
	wait_until(sub { time > (stat $stripped)[10] }, 'the stripped module is a second old');
	$node->safe_psql('postgres', "CREATE FUNCTION leak_nameless(int, bigint) RETURNS void AS '$stripped', 'leak_top' LANGUAGE C STRICT");
	my @sessions = map { $node->background_psql('postgres') } 1 .. 2;
	$_->query_safe("SELECT leak_nameless(1000, 40000)") for @sessions;
	my $explained = $node->safe_psql('postgres', 'SELECT explanation FROM pg_leakhunt_explain()');
	my $said = 'doc/names.md has the commands.';

	is(scalar(() = $explained =~ /Function names of /g), 1, 'explain says once that names are missing');
	like($explained, qr{\Q$said\E}, 'explain says where the commands are');
	like($explained, qr{stripped\.so\+0x[0-9a-f]+, called by leak_top}, 'a function without a name is named by its caller');
	my $evidence = $node->safe_psql('postgres', "SELECT translate(string_agg(evidence, ' '), E'\\n', ' ') FROM pg_leakhunt_suspects");
	is(scalar(() = $evidence =~ /Function names of stripped\.so are missing\./g), 1, 'suspects say it once');
	my $picture = $node->safe_psql('postgres', 'SELECT pg_leakhunt_flamegraph(' . session_pid($sessions[0]) . ')');
	is(scalar(() = $picture =~ /pg_leakhunt_symbols says how to see names that are missing/g), 1, 'a picture says once where to read of missing names');
	like($node->safe_psql('postgres', 'SELECT pg_leakhunt_page(' . session_pid($sessions[0]) . ')'),
		qr{Function names of stripped\.so are missing; pg_leakhunt_symbols says how to see them\.},
		'so does a page');
	like($node->safe_psql('postgres', "SELECT pg_leakhunt_explain(" . session_pid($sessions[0]) . ", 'json')"),
		qr{\Q$said\E}, 'an object of explain has it among its sentences');
	like(
		$node->safe_psql('postgres', "SELECT hint FROM pg_leakhunt_symbols WHERE path = '$stripped'"),
		qr{^Names are in the debug symbols of exactly this version: .*\n\Q$said\E},
		'the view of symbols has a hint');
	$_->quit for @sessions;
}

done_testing();
