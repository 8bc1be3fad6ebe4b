# Names, files and lines: compared with what other tools say, and for binaries
# that were stripped, replaced, removed or damaged since they were loaded.
# Needs files and sessions side by side.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;

needs_programs('addr2line', 'nm', 'objcopy', 'objdump', 'readelf', 'strip');
my $frames = "$FindBin::RealBin/../unit/frames";
my $scratch = PostgreSQL::Test::Utils::tempdir();
$ENV{ASAN_OPTIONS} = 'detect_leaks=0';

# The output of a command, given something to read.
sub output_of
{
	my ($input, @command) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(\@command, '<', \$input, '>', \$out, '2>', \$err);
	return $out;
}

sub build_id
{
	return output_of('', 'readelf', '-n', $_[0]) =~ /Build ID: (\w+)/
	  ? $1
	  : '';
}

# Frames by address, from what addr2line -aif or our program prints.
sub parse_frames
{
	my ($text) = @_;
	my (%found, $address);

	for (split /\n/, $text)
	{
		s/ \(discriminator.*//;
		s{.*/}{} if /:[\d?]+$/;
		if (/^0x([0-9a-f]+)$/) { $address = hex $1; $found{$address} = []; }
		elsif (defined $address) { push @{ $found{$address} }, $_; }
	}
	return \%found;
}

# Are functions and lines of frames a part of others', in the same order?
sub is_part
{
	my ($part, $whole) = @_;

	for my $kind (0, 1)
	{
		my @left = map { $part->[ 2 * $_ + $kind ] } 0 .. $#$part / 2;

		for my $i (0 .. $#$whole / 2)
		{
			shift @left if @left && $left[0] eq $whole->[ 2 * $i + $kind ];
		}
		return 0 if @left;
	}
	return 1;
}

# Where calls return to, minus one.
sub call_sites
{
	my ($file) = @_;
	my @sites;
	my $after_call = 0;

	for (split /\n/, output_of('', 'objdump', '-d', '--no-show-raw-insn', $file))
	{
		next if !/^\s*([0-9a-f]+):\s+(\S+)/;
		push @sites, hex($1) - 1 if $after_call;
		$after_call = $2 =~ /^(call|bl)/;
	}
	return @sites;
}

# Against addr2line, where there is debug information: functions, files and lines
# of all frames.  Binutils before 2.41 take the file of the unit for that of the
# line where a unit has included code, so a few files may differ, but no line.
my $leaker = "$ENV{LEAKER}.so";
my ($pkglibdir) = output_of('', $ENV{PG_CONFIG}, '--pkglibdir') =~ /(.*)/;
my ($bindir) = output_of('', $ENV{PG_CONFIG}, '--bindir') =~ /(.*)/;
my ($compared, $other_files, $wrong) = (0, 0, 0);

# what clang has compiled has no table of the units' addresses
my $by_clang = "$scratch/by_clang.so";
append_to_file("$scratch/unit_$_.c", <<"C") for 1, 2;
void *malloc(unsigned long);
static inline void *inlined(int size) { char *kept = malloc(size); kept[1] = 1; return kept; }
static __attribute__((noinline)) void *called(int size)
{
	char *kept = inlined(size);
	kept[2] = 2;
	return kept;
}
void *outer_$_(int size) { char *kept = called(size); kept[3] = 3; return kept; }
C
my @clang = ('clang', '-g', '-O2', '-shared', '-fPIC', '-Wl,--build-id', '-o', $by_clang, map { "$scratch/unit_$_.c" } 1, 2);
my $has_clang = system("@clang >/dev/null 2>&1") == 0;

for my $file ($leaker, "$pkglibdir/pg_leakhunt.so", $has_clang ? $by_clang : ())
{
	my @sites = call_sites($file);
	my $input = join "\n", map { sprintf '0x%x', $_ } @sites;
	my $ours =
	  parse_frames(output_of($input, $frames, $file, build_id($file)));
	my $theirs = parse_frames(output_of($input, 'addr2line', '-aifC', '-e', $file));
	my $is_of_clang = output_of('', 'readelf', '-p', '.comment', $file) =~ /clang/;

	for my $site (@sites)
	{
		my @our = @{ $ours->{$site} || [] };
		my @their = @{ $theirs->{$site} };

		# stubs and start code have no debug information
		next if $their[1] =~ /:\?$/;
		next if $their[1] eq '??:0' && !grep { /:[1-9]\d*$/ } @our;

		# nor have the constructors that sanitizers add
		next if $their[0] =~ /^_sub_[ID]_\d/;
		$compared += @our / 2;
		next if "@our" eq "@their";
		s/^[^:]*:(\d+)$/$1/ for @our, @their;
		if ("@our" eq "@their") { $other_files++; next; }

		# binutils 2.40 do not know functions that clang has inlined in several pieces
		next if $is_of_clang and $our[1] eq $their[1] and is_part(\@their, \@our);
		$wrong++;
		diag(sprintf '%s 0x%x: %s instead of %s', $file, $site, "@our", "@their");
	}
}
cmp_ok($compared, '>=', 1000, "at least 1000 frames are compared with addr2line ($compared)");
is($wrong, 0, 'functions and lines are those of addr2line');
cmp_ok($other_files, '<=', $compared / 100, 'files are those of addr2line');
SKIP:
{
	skip 'no clang', 1 if !$has_clang;
	like(
		output_of(join("\n", map { sprintf '0x%x', $_ } call_sites($by_clang)), $frames, $by_clang, build_id($by_clang)),
		qr/\ninlined\n.*unit_2\.c:2\ncalled\n.*unit_2\.c:5\n/,
		'lines of what clang has compiled are found');
}

# Against the symbol table, where there is none: random addresses of the server.
my $postgres = "$bindir/postgres";
my @symbols;
for (split /\n/, output_of('', 'nm', '-D', '-S', '--defined-only', $postgres))
{
	push @symbols, [ hex $1, hex $2, $3 ]
	  if /^([0-9a-f]+) ([0-9a-f]+) [TtWi] ([^@]+)/;
}
my ($text_start, $text_bytes) =
  output_of('', 'readelf', '-SW', $postgres) =~
  /\s\.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)/;
srand(1);
my @addresses =
  map { hex($text_start) + int(rand(hex $text_bytes)) } 1 .. 10000;
my %covering = map { $_ => [] } @addresses;
my @sorted = sort { $a <=> $b } @addresses;
for my $symbol (sort { $a->[0] <=> $b->[0] } @symbols)
{
	shift @sorted while @sorted && $sorted[0] < $symbol->[0];
	for my $address (@sorted)
	{
		last if $address >= $symbol->[0] + $symbol->[1];
		push @{ $covering{$address} }, $symbol->[2];
	}
}
my $input = join "\n", map { sprintf '0x%x', $_ } @addresses;
my $ours = parse_frames(
	output_of($input, $frames, $postgres, build_id($postgres)));
my ($named, $unnamed, $misnamed) = (0, 0, 0);
for my $address (@addresses)
{
	my @our = @{ $ours->{$address} };

	# with debug symbols installed there are more names than exported ones
	my $function = @our ? $our[-2] : undef;
	my @expected = @{ $covering{$address} };
	if (!defined $function) { $unnamed++; $misnamed++ if @expected; }
	else
	{
		$named++;
		next if !@expected || grep { $_ eq $function } @expected;
		$misnamed++;
		diag(sprintf '0x%x: %s instead of %s', $address, $function, "@expected");
	}
}
is($misnamed, 0, 'none of 10000 addresses of the server has a wrong name');
cmp_ok($named, '>', 1000, "more than 1000 addresses of the server have a name ($named, $unnamed have none)");

# C++ names, as their author knows them.
SKIP:
{
	skip 'no C++ compiler', 4 if system('g++ --version >/dev/null 2>&1') != 0;
	append_to_file("$scratch/plus.cpp", <<'CPP');
extern "C" void *allocate(long);
namespace leak { struct Hunter { int *hunt(int deep, char *name); }; }
int *leak::Hunter::hunt(int deep, char *name)
{
	int *kept = (int *) allocate(deep);
	kept[0] = name[0];
	return kept;
}
CPP
	command_ok(
		[
			'g++', '-g', '-O1', '-shared', '-fPIC', '-Wl,--build-id', '-o',
			"$scratch/plus.so", "$scratch/plus.cpp"
		],
		'a C++ module is built');
	my @cpp_sites = call_sites("$scratch/plus.so");
	my $cpp_input = join "\n", map { sprintf '0x%x', $_ } @cpp_sites;
	my $hunt = qr{leak::Hunter::hunt\(int, char\*\)};
	like(
		output_of($cpp_input, $frames, "$scratch/plus.so",
			build_id("$scratch/plus.so")),
		qr{$hunt\nplus\.cpp:5\n},
		'a C++ function is named from debug information');
	command_ok([ 'strip', "$scratch/plus.so" ], 'a C++ module is stripped');
	like(
		output_of($cpp_input, $frames, "$scratch/plus.so",
			build_id("$scratch/plus.so")),
		qr{$hunt\n\?\?:0\n},
		'a C++ function is named from dynamic symbols');
}

# Damaged files: an answer or none, but no damage to us.
my $original = slurp_file($leaker);
my @sites = call_sites($leaker);
$input = join "\n", map { sprintf '0x%x', $_ } @sites;
my $bad = 0;
for my $round (1 .. 60)
{
	my $damaged = $original;
	if ($round % 3 == 0)
	{
		$damaged = substr($original, 0, int(rand(length $original)));
	}
	else
	{
		substr($damaged, int(rand(length $damaged)), 1) = chr(int(rand(256)))
		  for 1 .. 300;
	}
	unlink "$scratch/damaged.so";
	append_to_file("$scratch/damaged.so", $damaged);
	my ($out, $err) = ('', '');
	IPC::Run::run([ $frames, "$scratch/damaged.so", build_id($leaker) ],
		'<', \$input, '>', \$out, '2>', \$err);
	$bad++ if $err =~ /AddressSanitizer|runtime error/;
}
is($bad, 0, '60 damaged files do no damage to their reader');

# From here on in a server.
my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 1
CONF

# A function of a module at that path.
sub define
{
	my ($name, $path, $symbol, $arguments) = @_;

	$node->safe_psql('postgres',
		"CREATE OR REPLACE FUNCTION $name($arguments) RETURNS void AS '$path', '$symbol' LANGUAGE C STRICT"
	);
}

# The stack of the largest site that goes through a module, as a new session
# sees it, frames separated by " / ".
sub stack_of
{
	my ($pid, $query) = @_;

	return $node->safe_psql(
		'postgres', qq{
		SELECT array_to_string(stack, ' / ') FROM pg_leakhunt_report
		WHERE pid = $pid AND query LIKE '$query%'
		ORDER BY live_bytes DESC LIMIT 1});
}

sub symbols_of
{
	my ($path) = @_;

	return $node->safe_psql('postgres',
		"SELECT source, file, hint FROM pg_leakhunt_symbols WHERE path = '$path'"
	);
}

# A session that has called something and stays.
sub calling_session
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe($query);
	return ($session, $pid);
}

# A stripped module, whose debug file is where distributions put them.
SKIP:
{
	skip 'no debug file could be installed', 5 if !$ENV{DEBUG_FILE};
	my $stripped = "$scratch/leaker_stripped.so";

	copy($ENV{STRIPPED}, $stripped) or die $!;
	define('leak_stripped', $stripped, 'leak_top', 'int, bigint');
	my ($session, $pid) = calling_session('SELECT leak_stripped(100, 50)');
	like(
		stack_of($pid, 'SELECT leak_stripped'),
		qr{^leaking_top \(leaker\.c:\d+\) / leak_top \(leaker\.c:\d+\)},
		'a stripped module is named by the debug file of its build-id');
	is( symbols_of($stripped),
		"debug information|$ENV{DEBUG_FILE}|", 'the view of symbols shows the debug file of a build-id');

	# as where a dump is read on another machine, that has the debug file only
	rename($stripped, "$stripped.gone") or die $!;
	like(
		stack_of($pid, 'SELECT leak_stripped'),
		qr{^leaking_top \(leaker\.c:\d+\) / leak_top},
		'a debug file does without the binary');
	is( symbols_of($stripped),
		"debug information|$ENV{DEBUG_FILE}|", 'the view of symbols shows a debug file without its binary');
	copy("$ENV{LEAKER}.so", $stripped) or die $!;
	like(
		stack_of($pid, 'SELECT leak_stripped'),
		qr{^leaking_top \(leaker\.c:\d+\)},
		'a binary that is back is named as before');
	$session->quit;
}

# A stripped module without debug file: what it exports is named.
mkdir "$scratch/module" or die $!;
mkdir "$scratch/module/.debug" or die $!;
my $module = "$scratch/module/corner_cases.so";
my $corner_cases = ($ENV{LEAKER} =~ s/leaker$/corner_cases/r) . '.so';
command_ok(
	[
		'objcopy', '--only-keep-debug', $corner_cases, "$scratch/kept.debug"
	],
	'a debug file is made');
command_ok([ 'strip', '-o', $module, $corner_cases ], 'a module is stripped');
my $cwd = Cwd::getcwd();
chdir $scratch;
command_ok([ 'objcopy', '--add-gnu-debuglink=kept.debug', $module ],
	'a module is linked to its debug file');
chdir $cwd;
define('hold_there', $module, 'hold_huge', 'bigint');
my ($session, $pid) = calling_session('SELECT hold_there(1000000)');
like(stack_of($pid, 'SELECT hold_there'), qr{^hold_huge / },
	'exported functions of a stripped module are named');
like(symbols_of($module),
	qr{^dynamic symbols\|\Q$module\E\|Names are in the debug symbols of exactly this version: .*doc/names\.md has the commands\.}s,
	'the view of symbols has a hint for a stripped module');

# With the debug file that the binary names.
move("$scratch/kept.debug", "$scratch/module/.debug/kept.debug") or die $!;
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^hold_huge \(corner_cases\.c:\d+\)},
	'a module is named by the debug file of its link');
is( symbols_of($module),
	"debug information|$scratch/module/.debug/kept.debug|",
	'the view of symbols has no hint for a module with its debug file');
move("$scratch/module/.debug/kept.debug", "$scratch/kept.debug") or die $!;

# A module that is replaced or goes while it is loaded.
copy($module, "$scratch/kept.so") or die $!;
copy($leaker, "$scratch/other.so") or die $!;
rename("$scratch/other.so", $module) or die $!;
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^corner_cases\.so\+0x[0-9a-f]+ \[file replaced\] / },
	'a module with another file in its place is shown as replaced');
like(symbols_of($module), qr{^nothing\|\|The file was replaced},
	'the view of symbols tells that a file was replaced');
unlink $module;
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^corner_cases\.so\+0x[0-9a-f]+ \[file removed\] / },
	'a module without a file is shown as removed');
like(symbols_of($module), qr{^nothing\|\|The file was removed}, 'the view of symbols tells that a file was removed');
append_to_file($module, substr(slurp_file("$scratch/kept.so"), 0, 2000));
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^corner_cases\.so\+0x[0-9a-f]+ / },
	'a module whose file was cut short behind its build-id has no names');
unlink $module;
append_to_file($module, substr(slurp_file("$scratch/kept.so"), 0, 100));
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^corner_cases\.so\+0x[0-9a-f]+ \[file unreadable\] / },
	'a module whose file was cut short before its build-id is unreadable');
unlink $module;
command_ok([ 'mkfifo', $module ], 'a pipe is made');
like(
	stack_of($pid, 'SELECT hold_there'),
	qr{^corner_cases\.so\+0x[0-9a-f]+ \[file unreadable\] / },
	'a module with a pipe in its place is unreadable, and nobody waits for it');
unlink $module;
rename("$scratch/kept.so", $module) or die $!;
like(stack_of($pid, 'SELECT hold_there'), qr{^hold_huge / }, 'a module whose file is back is named as before');
$session->quit;

# A binary without a build-id is the one that was loaded unless it has been
# touched since; and a name that is no valid text is made one.
my $nameless = "$scratch/module/nameless.so";
command_ok(
	[
		'objcopy', '--strip-debug', '-R', '.note.gnu.build-id',
		'--redefine-sym', "hold_huge=\xff\xfehold", $corner_cases, $nameless
	],
	'a module without build-id and with a strange name is made');

# times of files are compared by the second
wait_until(sub { time > (stat $nameless)[10] }, 'a file is a second old');
define('hold_nameless', $nameless, 'hold_huge', 'bigint');
($session, $pid) = calling_session('SELECT hold_nameless(1000000)');
$node->safe_psql('postgres',
	"CREATE DATABASE utf8 ENCODING 'UTF8' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
);
is( $node->safe_psql(
		'utf8', qq{
		CREATE EXTENSION pg_leakhunt;
		SELECT site, length(stack[1]) FROM pg_leakhunt_report
		WHERE pid = $pid ORDER BY live_bytes DESC LIMIT 1}),
	'??hold|6',
	'an untouched binary without build-id has names, and they are valid text');
copy($nameless, "$scratch/copy.so") or die $!;
rename("$scratch/copy.so", $nameless) or die $!;
like(
	stack_of($pid, 'SELECT hold_nameless'),
	qr{^nameless\.so\+0x[0-9a-f]+ \[file replaced\] / },
	'a binary without build-id that was touched is shown as replaced');
$session->quit;

# A server of debug files.
SKIP:
{
	skip 'no debuginfod, or no curl', 2 if !-x '/usr/bin/debuginfod' || !has_program('curl');
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $server = IPC::Run::start(
		[
			'debuginfod', '-F', '-p', $port, '-d', ':memory:', '-t', '1',
			$scratch
		],
		'>', "$scratch/debuginfod.log", '2>&1');
	wait_until(
		sub {
			output_of('', 'curl', '-sf',
				"http://127.0.0.1:$port/buildid/" . build_id($module) . '/debuginfo');
		},
		'debuginfod has the debug file');
	$node->stop;
	{
		local $ENV{DEBUGINFOD_URLS} = "http://127.0.0.1:$port";
		local $ENV{DEBUGINFOD_CACHE_PATH} = "$scratch/debuginfod";
		$node->start;
	}
	($session, $pid) = calling_session('SELECT hold_there(1000000)');
	like(
		stack_of($pid, 'SELECT hold_there'),
		qr{^hold_huge \(corner_cases\.c:\d+\)},
		'a module is named by the debug file of a server');
	$session->quit;
	$server->kill_kill;
}

# A library that is loaded late.
($session, $pid) = calling_session(
	'DO $$ BEGIN PERFORM leak_top(100, 50); END $$');
like(
	stack_of($pid, 'DO'),
	qr{^leaking_top.* / plpgsql_inline_handler.* / main},
	'PL/pgSQL is in the stack');

$session->quit;

# The kernel's own code, which has no file, interrupted by a signal.
define_corner_cases($node);
($session, $pid) = calling_session('SELECT leak_in_vdso(300)');
my $in_vdso = $node->safe_psql(
	'postgres', qq{
	SELECT array_to_string(stack, ' / ') FROM pg_leakhunt_report
	WHERE pid = $pid AND array_to_string(stack, ' / ') LIKE '%vdso%' LIMIT 1});
like(
	$in_vdso,
	qr{^leaking_handler [^/]* / .*linux-vdso\.so\.1\+0x[0-9a-f]+ / .*leak_in_vdso [^/]* / .*main},
	'the vDSO is in the stack, and the stack has frames before and after it');
$session->quit;

# A library that is not loaded any more is still named by its file.
copy($corner_cases, "$scratch/unloaded.so") or die $!;
($session, $pid) =
  calling_session("SELECT leak_by_unloaded('$scratch/unloaded.so')");
like(
	stack_of($pid, 'SELECT leak_by_unloaded'),
	qr{^leaking_for_others \(corner_cases\.c:\d+\) / leak_by_unloaded},
	'an unloaded library is named by its file');

# Reading symbols costs the session nothing that stays, but its cache, and what its
# own profile says of statements and queries.
$session->query_safe("SET pg_leakhunt.scope = 'long_lived'");
sub own_figures
{
	return split / /, $session->query_safe(
		q{
		SELECT malloc_in_use() || ' ' || (SELECT count(*) FROM regexp_matches(pg_read_file('/proc/self/maps'), '$', 'gn'))
			|| ' ' || (SELECT coalesce(sum(live_bytes), 0) FROM pg_leakhunt_report
				WHERE pid = pg_backend_pid() AND array_to_string(stack, ' ') ~ 'plh_|pg_leakhunt_get')});
}
$session->query_safe('SELECT count(stack) FROM pg_leakhunt_report') for 1 .. 2;
my ($malloc_before, $maps_before, $live_before) = own_figures();
$session->query_safe('SELECT count(stack) FROM pg_leakhunt_report') for 1 .. 20;
my ($malloc_after, $maps_after, $live_after) = own_figures();
cmp_ok($malloc_after - $malloc_before, '<', 100_000, 'twenty reports leave no memory of malloc behind');
note("$malloc_before bytes before, $malloc_after after");
is($maps_after, $maps_before, 'twenty reports leave no mapping behind');
is($live_after, $live_before, 'twenty reports leave no live bytes behind');
is( $session->query_safe(
		"SELECT count(*) FROM pg_ls_dir('/proc') d WHERE d = 'none'"),
	0,
	'a session that read many reports answers');
$session->quit;

# The pipes of a process, by descriptor: their flags.
sub pipes_of
{
	my ($owner) = @_;
	my %flags;

	for my $link (glob("/proc/$owner/fd/*"))
	{
		my ($fd) = $link =~ /(\d+)$/;
		my $info = "/proc/$owner/fdinfo/$fd";

		next if (readlink($link) // '') !~ /^pipe:/ || !-e $info;
		($flags{"$fd"}) = slurp_file($info) =~ /^flags:\s*(\d+)/m;
	}
	return %flags;
}

# The process that reads symbols for a session, as soon as it has its own name.  Before
# that it blocks all signals: a SIGCONT would wait until it is traced, and stop it there.
sub reader_of
{
	my ($session_pid) = @_;
	my $until = time + 60;

	while (time < $until)
	{
		my ($reader) = slurp_file("/proc/$session_pid/task/$session_pid/children") =~ /(\d+)/;

		return $reader if $reader && `cat /proc/$reader/comm 2>&1` eq "pg_leakhunt\n";
	}
	return undef;
}

# A process that reads symbols and can't be reaped, as it hangs: here it is traced,
# and its tracer does not wait for it.  It holds up the session for a moment only.
SKIP:
{
	my $ptrace = { x86_64 => 101, aarch64 => 117 }->{ (POSIX::uname())[4] };
	my $seize = 0x4206;
	my $O_CLOEXEC = 02000000;
	my $reader;

	skip 'no number of ptrace', 4 if !$ptrace;
	my $asker = $node->background_psql('postgres');
	my $asker_pid = session_pid($asker);
	my $children = "/proc/$asker_pid/task/$asker_pid/children";
	skip 'no list of child processes', 4 if !-e $children;
	my %before = pipes_of($asker_pid);
	$asker->query_until(qr//, "SELECT count(*) FROM pg_leakhunt_report;\n");
	$reader = reader_of($asker_pid);
	ok($reader, 'a process reads symbols');
	kill 'STOP', $reader;
	my %pipes = pipes_of($asker_pid);
	delete @pipes{ keys %before };
	# it may not have closed the other ends yet
	like(join(' ', map { oct($_) & $O_CLOEXEC ? 'closed' : 'inherited' } values %pipes),
		qr/^closed(?: closed)+$/, 'a program that the session starts does not get the pipes to the reader of symbols');
	kill 'CONT', $reader;
	skip 'it may not be traced', 2
	  if syscall($ptrace, $seize, $reader + 0, 0, 0) != 0;
	like($asker->query_safe("SELECT 'goes on'"),
		qr/goes on/, 'a session does not wait for a reader of symbols that cannot be reaped');
	like(slurp_file("/proc/$reader/stat"),
		qr/^$reader \(.*\) Z $asker_pid /, 'a reader of symbols that cannot be reaped is a zombie');
	$asker->quit;
}

# A process that reads symbols and crashes, gets no memory, or does not go on: the
# session has its rows, with the reason why names are missing, or can be cancelled.
my $too_late = 0;
SKIP:
for my $case (
	[ 'crashes', qr/^[1-9]\d* rows, [1-9]\d* with no answer\ngoes on$/ ],
	[ 'gets no memory', qr/^[1-9]\d* rows, [1-9]\d* with (?:no memory|no answer)\ngoes on$/ ],
	[ 'hangs', qr/^goes on$/ ])
{
	my ($trouble, $answer) = @{$case};
	my $asker = $node->background_psql('postgres', on_error_stop => 0);
	my $asker_pid = session_pid($asker);
	my $children = "/proc/$asker_pid/task/$asker_pid/children";
	my $until = time + 60;
	my $reader;

	skip 'no list of child processes', 13 if !-e $children;
	$asker->query_until(
		qr//, q{
		SELECT count(*) || ' rows, ' || count(reason) || ' with ' || coalesce(string_agg(DISTINCT reason, ', '), 'a reason')
		FROM (SELECT substring(array_to_string(stack, ' ') FROM '\[(no memory|no answer)\]') AS reason
			FROM pg_leakhunt_report) rows;
	});
	# as early as can be: later, it has all that it needs
	while (!$reader && time < $until)
	{
		($reader) = slurp_file($children) =~ /(\d+)/;
	}
	ok($reader && kill('STOP', $reader), "$trouble: a process reads symbols");
	kill 'SEGV', $reader if $trouble eq 'crashes';
	system('prlimit', '--pid', $reader, '--as=4096') == 0 or die if $trouble eq 'gets no memory';
	if ($trouble eq 'hangs')
	{
		ask($node, "SELECT pg_cancel_backend($asker_pid)");
	}
	else
	{
		kill 'CONT', $reader;
	}
	my $said = $asker->query("SELECT 'goes on'");

	# it had all that it needs before it was stopped
	redo if $said =~ /, 0 with / && $too_late++ < 10;
	like($said, $answer, "$trouble: the session has its answer");
	is($asker->{stderr} =~ /canceling statement/ ? 'cancelled' : 'answered',
		$trouble eq 'hangs' ? 'cancelled' : 'answered', "$trouble: the query is answered, or cancelled if its reader hangs");
	# it was asked to leave, which one that is stopped does when it goes on; the session has not
	# waited for that, and looks after it when it needs names again
	kill 'CONT', $reader if $trouble eq 'hangs';
	wait_until(
		sub {
			$asker->query('SELECT count(*) FROM pg_leakhunt_report') if $trouble eq 'hangs';
			return !-e "/proc/$reader";
		},
		"$trouble: the process that reads symbols is gone");
	like(slurp_file($node->logfile), qr/The symbol reader was terminated by signal 11 while reading this file\.\n(?!.*HINT)/, 'the log tells that the process that reads symbols crashed')
	  if $trouble eq 'crashes';
	$asker->quit;
}

# The limit of the process that reads symbols is not used up by the session's own
# addresses, of which a leaking one may have many.
is( $node->safe_psql(
		'postgres', q{
		SET pg_leakhunt.sample_interval = 1;
		SELECT leak_top(100, 10), reserve_addresses(40::bigint << 30);
		SELECT site ~ '^leaking_top' FROM pg_leakhunt_report(pg_backend_pid())
		WHERE live_bytes = 1000 AND live_count = 10}),
	"|t\nt",
	'a session with 40 GB of addresses sees names');

# JIT-compiled code has no name, and says so.  It takes the place of what interprets
# expressions, so the rest of the stack is the same.
SKIP:
{
	skip 'no JIT', 3
	  if $node->safe_psql('postgres', 'SELECT pg_jit_available()') ne 't';
	my %frames;

	for my $jit (qw(off on))
	{
		my $query = "SELECT leak_top(10000, 1), '$jit'";

		($session, $pid) = calling_session(
			qq{SET jit = $jit; SET jit_above_cost = 0;
			$query FROM generate_series(1, 50) g WHERE g + 1 > 0});
		$frames{$jit} = [ split / \/ /, stack_of($pid, $query =~ s/'/''/gr) ];
		$session->quit;
	}
	my ($place) = grep { $frames{on}[$_] =~ /\[JIT code\]$/ } 0 .. $#{ $frames{on} };
	ok($place, 'JIT-compiled code is shown as such') or diag("@{ $frames{on} }");
	like($frames{on}[ $place - 1 ], qr/^leak_top/, 'JIT-compiled code is shown as the caller of its function');
	skip 'there are rules for unwinding on x86-64 only', 1
	  if `uname -m` !~ /x86_64/;
	$frames{off}[$place] = '[JIT code]';
	is_deeply($frames{on}, $frames{off}, 'the stack is complete beyond JIT-compiled code');
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|\(PID \d+\) was terminated by signal/,
	'no other process has crashed');
done_testing();
