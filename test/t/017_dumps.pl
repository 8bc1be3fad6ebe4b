# Dump files: written of other processes and while one grows, read back, and
# compared, by us and by other people's tools.  Needs processes, files and tools.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=UTF8', '--locale=C' ]);
pg_leakhunt.enabled = off
pg_leakhunt.max_stack_depth = 128
restart_after_crash = on
compute_query_id = on
CONF
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $postgres = readlink("/proc/$postmaster/exe");
my $directory = $node->data_dir . '/pg_leakhunt';

# Sum of the live bytes of a dump as others see it.
sub jeprof_bytes
{
	my (@arguments) = @_;
	my $output = run_tool('jeprof', '--text', '--show_bytes', @arguments);

	return $output =~ /^Total: (\d+) B/m ? $1 : "no total: $output";
}

sub pprof_bytes
{
	my (@arguments) = @_;
	my $output = run_tool('go', 'tool', 'pprof', '-top', '-unit=B',
		'-sample_index=inuse_space', @arguments);

	return $output =~ /^Showing nodes .* of (-?\d+)B total/m ? $1 : "no total: $output";
}

# A session that holds all kinds of things, and does nothing any more.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe(qq{
	SET client_encoding = 'UTF8';
	SELECT pg_leakhunt_start($pid, 1);
	SELECT leak_top(64, 10000);
	SELECT leak_at_depth(200, 100, 10);
	SELECT leak_named_context(E'a b\\nheap profile: 1: 2 [3: 4] \@\\t%41"', 100);
	SELECT leak_named_context(E'\\u00e4\\u4e2d&<script>', 100) /* 'quoted'
	"text" \x{c3}\x{a4} \x{e4}\x{b8}\x{ad} */;
	SELECT allocate_in_balance(100, 100);
	SELECT leak_top(0, 7)});
$session->query_safe('SELECT pg_leakhunt_baseline(pg_backend_pid()); SELECT leak_top(64, 500)');

# On a slow machine it still frees what the last statement needed, or waits for a processor.
my $held = '';
wait_until(
	sub {
		my $before = $held;

		select(undef, undef, undef, 0.5);
		$held = ask($node, "SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $pid");
		return $held eq $before && slurp_file("/proc/$pid/stat") =~ /^\d+ \(.*\) S /;
	},
	'it does nothing any more');

# Read back: all columns as in the report.
my $file = ask($node, "SELECT pg_leakhunt_dump($pid)");
is($file, "$pid.1.manual.heap", 'name of a dump');
my $report = "SELECT * FROM pg_leakhunt_report WHERE pid = $pid";
cmp_ok(ask($node, "SELECT count(*) FROM ($report) r"), '>', 10, 'sites');
is( ask(
		$node,
		"SELECT count(*) FROM (($report EXCEPT SELECT * FROM pg_leakhunt_read_dump('$file')) UNION ALL (SELECT * FROM pg_leakhunt_read_dump('$file') EXCEPT $report)) d"
	),
	0,
	'a dump read back is the report');
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_read_dump('$file') WHERE growth_bytes = 32000 AND stack IS NOT NULL"
	),
	1,
	'with the growth');
is( ask(
		$node,
		"SELECT max(array_length(stack, 1)) >= 128, bool_or(context_name = E'a b\\nheap profile: 1: 2 [3: 4] \@\\t%41\"'), bool_or(context_name = U&'\\00e4\\4e2d&<script>'), bool_or(query LIKE U&'%''quoted''%\\00e4%\\4e2d%') FROM pg_leakhunt_read_dump('$file')"
	),
	't|t|t|t',
	'deep stacks, hostile names and queries');
is( ask(
		$node,
		"SELECT pid, backend_type, reason, size_bytes, live_bytes = (SELECT sum(live_bytes) FROM pg_leakhunt_report WHERE pid = $pid) FROM pg_leakhunt_dumps WHERE file = '$file'"
	),
	"$pid|client backend|manual|" . (-s "$directory/$file") . '|t',
	'pg_leakhunt_dumps');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_read_dump('pg_leakhunt/$file') LIMIT 1") > 0,
	1, 'the name that the log has');

# The same sum everywhere.
my $bytes = ask($node, "SELECT sum(live_bytes) FROM ($report) r");
my %sums = (
	'read_dump' => "SELECT sum(live_bytes) FROM pg_leakhunt_read_dump('$file')",
	'processes' => "SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $pid",
	'contexts' => "SELECT sum(live_bytes) FROM pg_leakhunt_contexts WHERE pid = $pid",
	'queries' => "SELECT sum(live_bytes) FROM pg_leakhunt_queries WHERE pid = $pid",
	'top, flat' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid)",
	'top of a file' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top('$file')",
	'top of lines' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid, 'line')",
	'top of modules' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top('$file', 'module')",
	'top of contexts' => "SELECT sum(cum_bytes) FROM pg_leakhunt_top($pid, 'context')",
	'folded' =>
	  "SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded($pid, context => true, query => true), E'\\n'), E'\\n') line",
	'folded of a file' =>
	  "SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded('$file'), E'\\n'), E'\\n') line",);
is(ask($node, $sums{$_}), $bytes, "sum: $_") for sort keys %sums;
my $profile = $node->basedir . '/profile.pb';
sub save_pprof
{
	my ($path, $arguments) = @_;
	my $hex = ask($node, "SELECT encode(pg_leakhunt_pprof($arguments), 'hex')");

	open my $out, '>:raw', $path or die $!;
	print $out pack('H*', $hex);
	close $out;
}
save_pprof($profile, $pid);
is(jeprof_bytes($postgres, "$directory/$file"), $bytes, 'sum: jeprof');
is(pprof_bytes("$directory/$file"), $bytes, 'sum: pprof of the dump');
is(pprof_bytes($profile), $bytes, 'sum: pprof of our profile');
my ($title) = ask($node, "SELECT pg_leakhunt_flamegraph($pid)") =~
  /<svg class="frame" x="0.0000%" [^>]*data-d="0"[^>]*><title>all&#10;([^<]*)</;
my $size = ask($node, "SELECT pg_size_pretty(bigint '$bytes')");
like($title // '', qr/^\Q$size\E in \d+ objects, 100\.00%/, 'sum: flame graph');

# What jeprof can do with a dump.
for my $mode (
	[ '--text', '--lines', '--cum' ], ['--collapsed'], ['--dot'],
	['--svg'], ['--callgrind'])
{
	my $output = run_tool('jeprof', @$mode, $postgres, "$directory/$file");
	like($output, qr/leaking_top/, "jeprof @$mode");
}

# Growth between dumps, before and after a restart, of another process.
$session->query_safe('SELECT leak_cache(1000, 2000)');
my $second = ask($node, "SELECT pg_leakhunt_dump($pid)");
$session->quit;
$node->restart;
$session = $node->background_psql('postgres');
my $other_pid = session_pid($session);
$session->query_safe(
	"SELECT pg_leakhunt_start($other_pid, 1); SELECT leak_top(64, 10000); SELECT leak_cache(1000, 5000)"
);
my $third = ask($node, "SELECT pg_leakhunt_dump($other_pid)");
is( ask(
		$node,
		"SELECT sum(older_bytes), sum(newer_bytes), sum(growth_bytes) FROM pg_leakhunt_diff('$second', '$third') WHERE function_of(site) = 'leaking_in' AND context_name = 'CacheMemoryContext'"
	),
	'2000000|5000000|3000000',
	'difference across a restart');
my $difference =
  ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$second', '$third')");
is( $difference,
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_read_dump('$third')")
	  - ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_read_dump('$second')"),
	'sums of the difference');
is( ask($node, "SELECT cum_bytes FROM pg_leakhunt_top('$third', base => '$second') WHERE name = 'leaking_in'"
	),
	ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$second', '$third') WHERE 'leaking_in' = ANY (functions(stack))"
	),
	'top of the difference');
like(
	ask($node, "SELECT pg_leakhunt_folded('$third', base => '$second')"),
	qr/;leak_cache;leaking_in 2000000 5000000$/m,
	'folded stacks of the difference');
my $expected =
  ask($node, "SELECT flat_bytes FROM pg_leakhunt_top('$third', base => '$second') WHERE name = 'leaking_in'");
my $text = run_tool('jeprof', '--text', '--show_bytes', '--base',
	"$directory/$second", $postgres, "$directory/$third");
like($text, qr/^\s*$expected .* leaking_in$/m, 'jeprof --base');

# Statements without ids that differ in their literals are compared with each other.
my @without_ids = map {
	my $other = $node->background_psql('postgres');
	my $other_pid = session_pid($other);
	$other->query_safe("SET compute_query_id = off; SELECT pg_leakhunt_start($other_pid, 1)");
	$other->query_safe("SELECT leak_top(100, 1000) WHERE '$_' <> '';");
	my $dump = ask($node, "SELECT pg_leakhunt_dump($other_pid)");
	$other->quit;
	$dump;
} 'one', 'another';
is( ask(
		$node,
		"SELECT query, older_bytes, newer_bytes FROM pg_leakhunt_diff('$without_ids[0]', '$without_ids[1]') WHERE function_of(site) = 'leaking_top'"
	),
	"SELECT leak_top(100, 1000) WHERE 'another' <> '';|100000|100000",
	'also where they differ in a literal');
my @profiles = map { $node->basedir . "/$_.pb" } qw(second third);
save_pprof($profiles[0], "'$second', labels => '{memory_context,pid}'");
save_pprof($profiles[1], "'$third', labels => '{memory_context,pid}'");
my @pprof_top = ('go', 'tool', 'pprof', '-top', '-unit=B');
$text = run_tool(@pprof_top, '-diff_base', $profiles[0], $profiles[1]);
like($text, qr/^\s*${expected}B .* leaking_in$/m, 'pprof -diff_base of our profiles');
$text = run_tool(@pprof_top, '-diff_base', "$directory/$second", $postgres,
	"$directory/$third");
like($text, qr/^\s*${expected}B .* leaking_in$/m, 'pprof -diff_base of dumps');
$text = run_tool('go', 'tool', 'pprof', '-tags', $profiles[1]);
like($text, qr/memory_context: .*\n.*: CacheMemoryContext/, 'pprof -tags');
like($text, qr/pid: .*\n.*: $other_pid$/m, 'with the pid');
$text = run_tool(@pprof_top, '-tagfocus=memory_context=CacheMemoryContext',
	$profiles[1]);
like($text, qr/leaking_in/, 'pprof -tagfocus');
unlike($text, qr/leaking_top/, 'shows what it should');

# The path of a binary may be anything.
my $strange_path = $node->basedir . "/a\nb %c\x01";
mkdir $strange_path or die $!;
is(system('cp', "$ENV{LEAKER}.so", "$strange_path/strange.so"), 0, 'a path');
my $quoted_path = $strange_path =~ s/\n/\\n/r =~ s/\x01/\\x01/r;
$session->query_safe(
	"CREATE FUNCTION leak_strangely(int, bigint) RETURNS void AS E'$quoted_path/strange.so', 'leak_top' LANGUAGE C STRICT"
);
$session->query_safe('SELECT leak_strangely(64, 100)');
my $fourth = ask($node, "SELECT pg_leakhunt_dump($other_pid)");
is( ask(
		$node,
		"SELECT sum(live_bytes) = (SELECT live_bytes FROM pg_leakhunt_dumps WHERE file = '$fourth') FROM pg_leakhunt_read_dump('$fourth')"
	),
	't',
	'a binary with a strange path');
like(
	slurp_file("$directory/$fourth"),
	qr/ path=\S*a%0Ab%20%25c%01.strange.so\n.* 0 \S*a\\012b %c\\001.strange.so\n/s,
	'each stays in its line');

# Symbolized: nothing else is needed to read it.
$session->query_safe(
	"SELECT pg_leakhunt_start($other_pid, 1, 'all'); SELECT count(*) FROM information_schema.columns JOIN information_schema.table_constraints USING (table_name)"
);
my $symbolized = ask($node, "SELECT pg_leakhunt_dump($other_pid, true)");
rename("$ENV{LEAKER}.so", "$ENV{LEAKER}.aside") or die $!;
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_read_dump('$symbolized') WHERE site ~ '^leaking_in [(]leaker.c:[0-9]+[)]' AND context_name = 'CacheMemoryContext'"
	),
	1,
	'a symbolized dump has its names with it');
cmp_ok(-s "$directory/$symbolized", '>', 64 * 1024, 'symbols take room');
is( ask(
		$node,
		"SELECT live_bytes = (SELECT sum(live_bytes) FROM pg_leakhunt_read_dump(file)) FROM pg_leakhunt_dumps WHERE file = '$symbolized'"
	),
	't',
	'it is in the list');
$text = run_tool('jeprof', '--text', '--cum', "$directory/$symbolized");
like($text, qr/leaking_in/, 'jeprof reads it without binaries');
rename("$ENV{LEAKER}.aside", "$ENV{LEAKER}.so") or die $!;
is( jeprof_bytes("$directory/$symbolized"),
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_read_dump('$symbolized')"),
	'and has the same sum');

# Whatever is not as it should be is an error that names the line.
my $good = slurp_file("$directory/$file");
my $lines = () = $good =~ /\n/g;
my ($context_line) = map { scalar(() = /\n/g) } $good =~ /\A(.*?)^# context /ms;
my ($stack_line) = map { scalar(() = /\n/g) } $good =~ /\A(.*?)^\d+: \d+ \[.* @ 0x/ms;
my $stated_size = sub { $_[0] =~ s/ bytes=[\d ]{15}/sprintf(' bytes=%-15d', length $_[0])/er };
sub damage
{
	my ($name, $text, $message) = @_;

	open my $out, '>:raw', "$directory/1.1.manual.heap" or die $!;
	print $out $text;
	close $out;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_read_dump('1.1.manual.heap')");
	like($stderr, $message, "damaged: $name");
}
damage('empty', '', qr/is damaged at line 1\n.*The file ends here/);
damage('another file', "hello\n", qr/is damaged at line 1\n.*"heap profile: "/);
damage('version', $good =~ s/dump_version=5/dump_version=1/r,
	qr/has another version/);
damage('cut at a line', join('', map { "$_\n" } (split /\n/, $good)[ 0 .. 9 ]),
	qr/is damaged at line 11\n.*The file ends here/);
damage('cut within a line', substr($good, 0, -5),
	qr/is damaged at line $lines\n.*ends within the line/);
damage('a figure', $good =~ s/^(\d+: \d+)( \[)/${1}1$2/mr,
	qr/is damaged at line @{[$stack_line + 1]}\n.*The sites of the stack add up to/);
damage('a figure of line 1', $good =~ s/^(heap profile: \d+: \d+)/${1}1/r,
	qr/is damaged at line 1\n.*The sites add up to/);
damage('a site less', $stated_size->($good =~ s/^# site .*\n//mr),
	qr/is damaged at line \d+\n/);
damage('another size', $good =~ s/^(# module .*)/$1 a=b/mr,
	qr/The file has \d+ bytes instead of \d+/);
damage('no such context', $good =~ s/^# context number=/# context number=9/mr,
	qr/is damaged at line \d+\n.*There is no context \d+/);
damage('no number', $good =~ s/ live_count=\d+/ live_count=x/r,
	qr/is damaged at line \d+\n.*"live_count" is no number/);
damage('a field', $good =~ s/ lifetime=session//r,
	qr/is damaged at line \d+\n.*"lifetime" is missing/);
damage('an address', $good =~ s/^(\d.* @ )0x[0-9a-f]+ /$1 zz /mr,
	qr/is damaged at line \d+\n.*no sound stack/);
damage('a code', $good =~ s/ name=/ name=%zz/r,
	qr/is damaged at line @{[$context_line + 1]}\n.*"%" without a code/);
damage('a death', $good =~ s/death=\w+/death=x/r,
	qr/is damaged at line 3\n.*no death "x"/);
damage('a scope', $good =~ s/scope=\w+/scope=x/r,
	qr/is damaged at line 4\n.*no scope "x"/);
damage('a zero byte', $good . "\0more\n",
	qr/is damaged at line @{[$lines + 1]}\n.*There is a zero byte/);
damage('a zero byte in a line', $good =~ s/ lifetime=/ life\0time=/r,
	qr/is damaged at line \d+\n.*There is a zero byte/);
damage('less than nothing', $good =~ s/^(\d+: )(\d+ \[.* @ 0)/$1-1$2/mr,
	qr/is damaged at line @{[$stack_line + 1]}\n.*not that of a stack/);
damage('less than nothing in line 1', $good =~ s/^heap profile: /heap profile: -/r,
	qr/is damaged at line 1\n.*not that of a heap profile/);
damage("$_ below 0", $good =~ s/( $_=)\d/$1-1/r,
	qr/is damaged at line \d+\n.*"$_" is no (finite )?number from 0/)
  for qw(live_bytes live_count total_count samples samples_live lost_site baseline_bytes);
damage('sums that wrap',
	$good =~ s/ live_bytes=\d+/ live_bytes=9223372036854775807/gr =~
	  s/^(\d+: )[1-9]\d*( \[)/${1}9223372036854775807$2/mgr,
	qr/is damaged at line \d+\n.*The sums become too large/);
damage('bytes of no encoding', $good =~ s/ lifetime=session/ lifetime=\xff/r,
	qr/is damaged at line \d+\n.*no lifetime "\?"/);
damage('too long', $good . "more\n", qr/is damaged at line @{[$lines + 1]}\n.*should have ended/);
my ($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_dumps');
is($stdout, 't', 'the list goes on');
damage('empty', '', qr/line 1/);
($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_dumps');
like($stderr, qr/WARNING:  ignoring file ".*1.1.manual.heap"/,
	'and says what it leaves out');
unlink "$directory/1.1.manual.heap";

# What has the name of a dump and is no file is none, and nobody waits for it.
is(system('mkfifo', "$directory/9.9.manual.heap"), 0, 'a FIFO');
mkdir "$directory/9.8.manual.heap" or die $!;
symlink("$directory/nothing", "$directory/9.7.manual.heap") or die $!;
($result, $stdout, $stderr) = $node->psql('postgres',
	"SET statement_timeout = '60s'; SELECT count(*) > 3 FROM pg_leakhunt_dumps");
is("$stdout$stderr", 't', 'it is not in the list');
for my $strange ('9.9.manual.heap', '9.8.manual.heap')
{
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_read_dump('$strange')");
	like($stderr, qr/"pg_leakhunt.$strange" is not a file/, "$strange is not read");
}
($result, $stdout, $stderr) = $node->psql('postgres',
	"SELECT count(*) FROM pg_leakhunt_read_dump('/dev/zero')");
like($stderr, qr{"/dev/zero" is not a file}, 'nor is a device');
unlink "$directory/9.9.manual.heap", "$directory/9.7.manual.heap";
rmdir "$directory/9.8.manual.heap";

# What is too large for a dump is refused before it is read: files of 2 GB, nearly
# all of it holes.
sub refuse_large
{
	my ($text, $message, $name) = @_;

	open my $out, '>:raw', "$directory/9.6.manual.heap" or die $!;
	print $out $text;
	close $out;
	truncate "$directory/9.6.manual.heap", 1 << 31 or die $!;
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_read_dump('9.6.manual.heap');
		 SELECT count(*) > 3 FROM pg_leakhunt_dumps;
		 SELECT pg_read_file('/proc/self/status')", on_error_stop => 0);
	like($stderr, $message, $name);
	like($stdout, qr/^t$/m, 'and the list of dumps goes on');
	cmp_ok(($stdout =~ /^VmHWM:\s+(\d+) kB/m)[0],
		'<', 200 * 1024, 'and the session does not become large');
	unlink "$directory/9.6.manual.heap";
}
refuse_large("LOG:  no dump\n", qr/is damaged at line 1\n.*"heap profile: "/,
	'a large file that is no dump');
refuse_large($good, qr/is too large\n.*It has 2147483648 bytes/, 'a large dump');
refuse_large("--- symbol\n", qr/is too large/, 'a large dump with symbols');

# However many are damaged, no file stays open.
for (1 .. 400)
{
	open my $out, '>', "$directory/$_.6.manual.heap" or die $!;
	close $out;
}
($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_dumps');
is($stdout, 't', 'a list with many damaged files');
is(scalar(() = $stderr =~ /WARNING:  ignoring file/g), 400, 'and as many warnings');
($result, $stdout, $stderr) = $node->psql(
	'postgres', q{
	DO $$ BEGIN FOR i IN 1..400 LOOP
		BEGIN PERFORM pg_leakhunt_read_dump(i || '.6.manual.heap');
		EXCEPTION WHEN data_corrupted THEN NULL; END;
	END LOOP; END $$; SELECT 'alive'});
is($stdout, 'alive', 'as many errors');
unlink glob("$directory/*.6.manual.heap");

# Anything at all is an error at worst.
srand(17);
my $calls = '';
for my $mutant (1 .. 100)
{
	my $text = slurp_file("$directory/" . ($mutant % 2 ? $file : $symbolized));

	for (1 .. 1 + rand(5))
	{
		my $place = int(rand(length($text)));
		my $what = int(rand(4));
		substr($text, $place, 1, chr(rand(256))) if $what == 0;
		substr($text, $place, rand(200), '') if $what == 1;
		substr($text, $place, 0, substr($text, rand(length($text)), rand(200)))
		  if $what == 2;
		substr($text, $place, 1, '9' x rand(30)) if $what == 3;
	}
	open my $out, '>:raw', "$directory/$mutant.7.manual.heap" or die $!;
	print $out $text;
	close $out;
	$calls .= "SELECT count(*) FROM pg_leakhunt_read_dump('$mutant.7.manual.heap'); SELECT length(pg_leakhunt_flamegraph('$mutant.7.manual.heap')) > 0, length(pg_leakhunt_pprof('$mutant.7.manual.heap')) > 0, length(pg_leakhunt_folded('$mutant.7.manual.heap', base => '$symbolized')) > 0;\n";
}
($result, $stdout, $stderr) =
  $node->psql('postgres', "$calls SELECT 'alive'; SELECT count(*) > 0 FROM pg_leakhunt_dumps", on_error_stop => 0);
like($stdout, qr/^alive$/m, 'no file takes the session down');
cmp_ok(scalar(() = $stderr =~ /is damaged at line \d+/g),
	'>', 50, 'most are found damaged');
unlink glob("$directory/*.7.manual.heap");

# A dump as it is, for who can't get at the file.
sub bytes_of
{
	my ($arguments, $role) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE ${\($role // 'postgres')}; SELECT encode(pg_leakhunt_dump_file($arguments), 'hex')",
		on_error_stop => 0);

	return $stderr ne '' ? $stderr : pack 'H*', $stdout;
}
for my $name ($file, $symbolized)
{
	ok(bytes_of("'$name'") eq slurp_file("$directory/$name"), "the bytes of $name");
}
append_to_file("$directory/1.8.manual.heap", "LOG:  no dump\n");
like(bytes_of("'1.8.manual.heap'"), qr/ERROR: .*is damaged at line 1/, 'of no dump');
append_to_file("$directory/1.8.manual.heap",
	slurp_file("$directory/$file") =~ s/^LOG.*\n//r);
like(bytes_of("'1.8.manual.heap'"), qr/ERROR: .*is damaged at line 1/, 'of one that is damaged');
unlink "$directory/1.8.manual.heap";
like(bytes_of("'../PG_VERSION'"), qr/ERROR: .*could not open dump file/, 'of no file');

# Who may read and write.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats');
append_to_file("$directory/1.1.manual.heap", "damaged\n");
for my $closed ($file, $symbolized, '1.1.manual.heap', '1.2.manual.heap')
{
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_read_dump('$closed')");
	is( $stderr =~ s/^psql:<stdin>:1: |\nCONTEXT.*//gr,
		qq{ERROR:  permission denied for dump file "$closed"
DETAIL:  Only roles with privileges of the process' role or of "pg_read_all_stats" may look at it.
HINT:  Other roles are not told whether a file is missing or damaged.},
		"nobody: $closed is like any other");
}
($result, $stdout, $stderr) = $node->psql('postgres',
	'SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_dumps');
is("$stdout$stderr", '0', 'nobody is not warned of files');
($result, $stdout, $stderr) = $node->psql('postgres',
	'SET ROLE reader; SELECT count(*) > 3 FROM pg_leakhunt_dumps');
like($stderr, qr/ignoring file ".*1.1.manual.heap"/, 'a reader is');
unlink "$directory/1.1.manual.heap";
my $may_dump = 'EXECUTE ON FUNCTION pg_leakhunt_start(int, bigint, text, interval), pg_leakhunt_dump(int, bool)';
ask($node, "GRANT $may_dump TO nobody");
my $own = $node->safe_psql(
	'postgres', q{
	DO $$ BEGIN PERFORM pg_leakhunt_start(pg_backend_pid(), 1); END $$;
	DO $$ BEGIN PERFORM leak_top(64, 1000); END $$;
	SELECT pg_leakhunt_dump(pg_backend_pid())},
	extra_params => [ '-U', 'nobody' ]);
ask($node, "REVOKE $may_dump FROM nobody");
is( $node->safe_psql('postgres',
		"SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_read_dump('$own') WHERE function_of(site) = 'leaking_top'"
	),
	1,
	'nobody reads what is their own');
is( $node->safe_psql('postgres',
		"SET ROLE nobody; SELECT string_agg(file, ' ') FROM pg_leakhunt_dumps"),
	$own,
	'nobody sees no other dumps');
ok(bytes_of("'$own'", 'nobody') eq slurp_file("$directory/$own"), 'and get it as it is');
like(bytes_of("'$file'", 'nobody'), qr/permission denied for dump file "\Q$file\E"/,
	'but no other');
append_to_file("$directory/$own", "one line too many\n");
($result, $stdout, $stderr) = $node->psql('postgres',
	"SET ROLE nobody; SELECT * FROM pg_leakhunt_read_dump('$own')");
like($stderr, qr/is damaged at line \d+\n.*should have ended/,
	'and is told what is wrong with it');
for my $case (
	[ 'reader', "pg_leakhunt_read_dump('1.2.manual.heap')", qr/could not open dump file "pg_leakhunt\/1.2/ ],
	[ 'nobody', "pg_leakhunt_read_dump('$file.tmp')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_read_dump('')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_dump_file('../postgresql.conf')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_dump_file('1.2.manual.heap')", qr/could not open dump file "pg_leakhunt\/1.2/ ],
	[ 'nobody', "pg_leakhunt_dump_file('1.2.manual.heap')", qr/permission denied for dump file/ ],
	[ 'nobody', "pg_leakhunt_flamegraph($other_pid)", qr/permission denied for process/ ],
	[ 'nobody', "pg_leakhunt_dump($other_pid)", qr/permission denied for function/ ],
	[ 'reader', "pg_leakhunt_read_dump('../postgresql.conf')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_read_dump('/etc/passwd')", qr/permission denied for file/ ],
	[ 'postgres', "pg_leakhunt_read_dump('../postgresql.conf')", qr/could not open dump file/ ],
	[ 'postgres', "pg_leakhunt_read_dump('postgresql.conf')", qr/could not open dump file "pg_leakhunt\/postgresql.conf"/ ],
	[ 'postgres', "pg_leakhunt_read_dump('/tmp')", qr/is not a file|could not open/ ],
	[ 'postgres', 'pg_leakhunt_dump(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ 'postgres', 'pg_leakhunt_flamegraph(99999999)', qr/ERROR:  PID 99999999 is not a/ ],
	[ 'postgres', "pg_leakhunt_top($other_pid, 'hour')", qr/ERROR:  cannot sum up by "hour"/ ],
	[ 'postgres', "pg_leakhunt_folded($other_pid, growth => true)", qr/ERROR:  there is no baseline of process/ ])
{
	my ($role, $call, $message) = @$case;
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE $role; SELECT count(*) FROM $call");
	like($stderr, $message, "$role: $call");
}
cmp_ok(
	$node->safe_psql(
		'postgres', 'SET ROLE reader; SELECT count(*) FROM pg_leakhunt_dumps'),
	'>', 0, 'a reader does');
$session->quit;

# A series of a process that grows until it is killed.
$node->append_conf('postgresql.conf',
	"pg_leakhunt.enabled = on\npg_leakhunt.dump_growth = 10MB\n");
$node->restart;
$session = $node->background_psql('postgres');
$pid = session_pid($session);
$session->query_until(qr//,
	"DO \$\$ BEGIN LOOP PERFORM leak_top(1000, 1000), pg_sleep(0.01); END LOOP; END \$\$;\n"
);
my $growth = "SELECT %s FROM pg_leakhunt_dumps WHERE pid = $pid AND reason = 'growth'";
ok($node->poll_query_until('postgres', sprintf($growth, 'count(*) >= 3')),
	'a series of dumps');
kill 'KILL', $pid;
$session->{run}->finish;
wait_for_server($node);
is( ask(
		$node,
		"SELECT bool_and(grown >= 10 * 1024 * 1024 AND after >= '1 s') FROM (SELECT live_bytes - lag(live_bytes) OVER w AS grown, created_at - lag(created_at) OVER w AS after FROM pg_leakhunt_dumps WHERE pid = $pid AND reason = 'growth' WINDOW w AS (ORDER BY created_at)) d"
	),
	't',
	'of so much more each, and not too often');
my @series = split /\n/,
  ask($node, sprintf($growth, 'file') . ' ORDER BY created_at');
is( ask(
		$node,
		"SELECT function_of(site) FROM pg_leakhunt_diff('$series[0]', '$series[-1]') LIMIT 1"
	),
	'leaking_top',
	'that can be compared');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|signal 11/, 'nobody crashed');
done_testing();
