# Dump files: written of other processes and while one grows, read back, and
# compared, by us and by other people's tools.  Needs processes, files and tools.
use strict;
use warnings;

use File::Spec::Functions qw(rel2abs);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use PostgreSQL::Test::Utils;
use Test::More;

# The fixture is taken away below: this is a copy, as other tests use it at that time.
BEGIN
{
	my $copy = rel2abs(PostgreSQL::Test::Utils::tempdir());

	system('cp', "$ENV{LEAKER}.so", "$ENV{LEAKER}.sql", $copy) == 0 or die 'the fixture cannot be copied';
	$ENV{LEAKER} = "$copy/leaker";
}
use LeakHunt;

needs_programs('jeprof', 'go');
my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=UTF8', '--locale=C' ]);
pg_leakhunt.enabled = off
pg_leakhunt.max_stack_depth = 128
pg_leakhunt.dump_keep = 1000
pg_leakhunt.dump_max_size = 100GB
restart_after_crash = on
compute_query_id = on
CONF
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $postgres = readlink("/proc/$postmaster/exe");
my $directory = $node->data_dir . '/pg_leakhunt';

# The path of the text that lies beside a dump, for jeprof and pprof.
sub text_of
{
	my ($file) = @_;

	return "$directory/" . $file =~ s/profile$/heap/r;
}

# Sum of the live bytes of a text as others see it.
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
	SELECT leak_named_context(E'\\u00e4\\u4e2d&<script>', 100) IS NULL /* 'quoted'
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
	'a session rests before it is dumped');

# Read back: all columns as in the report.
my $file = ask($node, "SELECT pg_leakhunt_dump($pid)");
is($file, "$pid.1.manual.profile", 'a dump is named by PID, number and reason');
my $report = "SELECT * FROM pg_leakhunt_report WHERE pid = $pid";
cmp_ok(ask($node, "SELECT count(*) FROM ($report) r"), '>', 10, 'a process has more than ten sites');
is( ask(
		$node,
		"SELECT count(*) FROM (($report EXCEPT SELECT * FROM pg_leakhunt_report('$file')) UNION ALL (SELECT * FROM pg_leakhunt_report('$file') EXCEPT $report)) d"
	),
	0,
	'a dump read back is the report');
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_report('$file') WHERE growth_bytes = 32000 AND stack IS NOT NULL"
	),
	1,
	'a dump has the growth since the baseline');
is( ask(
		$node,
		"SELECT max(array_length(stack, 1)) >= 128, bool_or(context_name = E'a b\\nheap profile: 1: 2 [3: 4] \@\\t%41\"'), bool_or(context_name = U&'\\00e4\\4e2d&<script>'), bool_or(query LIKE U&'%''quoted''%\\00e4%\\4e2d%') FROM pg_leakhunt_report('$file')"
	),
	't|t|t|t',
	'a dump has deep stacks, hostile names and queries');
is( ask(
		$node,
		"SELECT pid, backend_type, reason, size_bytes, live_bytes = (SELECT sum(live_bytes) FROM pg_leakhunt_report WHERE pid = $pid) FROM pg_leakhunt_dumps WHERE file = '$file'"
	),
	"$pid|client backend|manual|" . (-s "$directory/$file") . '|t',
	'pg_leakhunt_dumps has PID, type, reason, size and live bytes of a dump');
is(ask($node, "SELECT count(*) FROM pg_leakhunt_report('pg_leakhunt/$file') LIMIT 1") > 0,
	1, 'a dump can be read by the name that the log has');

# The same sum everywhere.
my $bytes = ask($node, "SELECT sum(live_bytes) FROM ($report) r");
my %sums = (
	'read_dump' => "SELECT sum(live_bytes) FROM pg_leakhunt_report('$file')",
	'processes' => "SELECT live_bytes FROM pg_leakhunt_processes WHERE pid = $pid",
	'contexts' => "SELECT sum(live_bytes) FROM pg_leakhunt_contexts WHERE pid = $pid",
	'top, flat' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid)",
	'top of a file' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top('$file')",
	'top of lines' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid, 'line')",
	'top of modules' => "SELECT sum(flat_bytes) FROM pg_leakhunt_top('$file', 'module')",
	'top of contexts' => "SELECT sum(cum_bytes) FROM pg_leakhunt_top($pid, 'context')",
	'folded' =>
	  "SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded($pid, context => true, query => true), E'\\n'), E'\\n') line",
	'folded of a file' =>
	  "SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded('$file'), E'\\n'), E'\\n') line",);
is(ask($node, $sums{$_}), $bytes, "the sum of the report is that of $_") for sort keys %sums;
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
is(jeprof_bytes($postgres, text_of($file)), $bytes, 'jeprof has the sum of the report');
is(pprof_bytes(text_of($file)), $bytes, 'pprof has the sum of the report for a text');
is(pprof_bytes($profile), $bytes, 'pprof has the sum of the report for our profile');
my ($title) = ask($node, "SELECT pg_leakhunt_flamegraph($pid)") =~
  /<svg class="frame" x="0.0000%" [^>]*data-d="0"[^>]*><title>all&#10;([^<]*)</;
my $size = ask($node, "SELECT pg_size_pretty(bigint '$bytes')");
like($title // '', qr/^\Q$size\E in \d+ objects, 100\.00%/, 'the flame graph has the sum of the report');

# What jeprof can do with a dump.
for my $mode (
	[ '--text', '--lines', '--cum' ], ['--collapsed'], ['--dot'],
	['--svg'], ['--callgrind'])
{
	my $output = run_tool('jeprof', @$mode, $postgres, text_of($file));
	like($output, qr/leaking_top/, "jeprof @$mode names the leaking function");
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
	'pg_leakhunt_diff compares dumps across a restart');
my $difference =
  ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$second', '$third')");
is( $difference,
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report('$third')")
	  - ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report('$second')"),
	'pg_leakhunt_diff adds up to the difference of both dumps');
is( ask($node, "SELECT cum_bytes FROM pg_leakhunt_top('$third', base => '$second') WHERE name = 'leaking_in'"
	),
	ask($node, "SELECT sum(growth_bytes) FROM pg_leakhunt_diff('$second', '$third') WHERE 'leaking_in' = ANY (functions(stack))"
	),
	'pg_leakhunt_top of a difference agrees with pg_leakhunt_diff');
like(
	ask($node, "SELECT pg_leakhunt_folded('$third', base => '$second')"),
	qr/;leak_cache;leaking_in 2000000 5000000$/m,
	'folded stacks of a difference have both figures');
my $expected =
  ask($node, "SELECT flat_bytes FROM pg_leakhunt_top('$third', base => '$second') WHERE name = 'leaking_in'");
my $text = run_tool('jeprof', '--text', '--show_bytes', '--base',
	text_of($second), $postgres, text_of($third));
like($text, qr/^\s*$expected .* leaking_in$/m, 'jeprof --base has the same difference');

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
	'statements without ids that differ in a literal are compared with each other');
my @profiles = map { $node->basedir . "/$_.pb" } qw(second third);
save_pprof($profiles[0], "'$second', labels => '{memory_context,pid}'");
save_pprof($profiles[1], "'$third', labels => '{memory_context,pid}'");
my @pprof_top = ('go', 'tool', 'pprof', '-top', '-unit=B');
$text = run_tool(@pprof_top, '-diff_base', $profiles[0], $profiles[1]);
like($text, qr/^\s*${expected}B .* leaking_in$/m, 'pprof -diff_base of our profiles has the same difference');
$text = run_tool(@pprof_top, '-diff_base', text_of($second), $postgres, text_of($third));
like($text, qr/^\s*${expected}B .* leaking_in$/m, 'pprof -diff_base of texts has the same difference');
$text = run_tool('go', 'tool', 'pprof', '-tags', $profiles[1]);
like($text, qr/memory_context: .*\n.*: CacheMemoryContext/, 'pprof -tags has the memory contexts');
like($text, qr/pid: .*\n.*: $other_pid$/m, 'pprof -tags has the PID');
$text = run_tool(@pprof_top, '-tagfocus=memory_context=CacheMemoryContext',
	$profiles[1]);
like($text, qr/leaking_in/, 'pprof -tagfocus shows what has the tag');
unlike($text, qr/leaking_top/, 'pprof -tagfocus does not show what has another tag');

# The path of a binary may be anything.
my $strange_path = $node->basedir . "/a\nb %c\x01";
mkdir $strange_path or die $!;
is(system('cp', "$ENV{LEAKER}.so", "$strange_path/strange.so"), 0, 'a module is copied to a strange path');
my $quoted_path = $strange_path =~ s/\n/\\n/r =~ s/\x01/\\x01/r;
$session->query_safe(
	"CREATE FUNCTION leak_strangely(int, bigint) RETURNS void AS E'$quoted_path/strange.so', 'leak_top' LANGUAGE C STRICT"
);
$session->query_safe('SELECT leak_strangely(64, 100)');
my $fourth = ask($node, "SELECT pg_leakhunt_dump($other_pid)");
is( ask(
		$node,
		"SELECT sum(live_bytes) = (SELECT live_bytes FROM pg_leakhunt_dumps WHERE file = '$fourth') FROM pg_leakhunt_report('$fourth')"
	),
	't',
	'a dump of a module with a strange path has the right sum');
like(
	slurp_file(text_of($fourth)),
	qr/^# build-id [0-9a-f]+ \S*a b %c .strange.so\n.* 0 \S*a\\012b %c\\001.strange.so\n/ms,
	'a strange path stays in its line of the text');

# Symbolized: nothing else is needed to read it.
$session->query_safe(
	"SELECT pg_leakhunt_start($other_pid, 1, 'all'); SELECT count(*) FROM information_schema.columns JOIN information_schema.table_constraints USING (table_name)"
);
my $symbolized = ask($node, "SELECT pg_leakhunt_dump($other_pid, true)");
rename("$ENV{LEAKER}.so", "$ENV{LEAKER}.aside") or die $!;
is( ask(
		$node,
		"SELECT count(*) FROM pg_leakhunt_report('$symbolized') WHERE site ~ '^leaking_in [(]leaker.c:[0-9]+[)]' AND context_name = 'CacheMemoryContext'"
	),
	1,
	'a symbolized dump has names without the binary');
cmp_ok(-s "$directory/$symbolized", '>', 64 * 1024, 'a symbolized dump takes more room');
is( ask(
		$node,
		"SELECT live_bytes = (SELECT sum(live_bytes) FROM pg_leakhunt_report(file)) FROM pg_leakhunt_dumps WHERE file = '$symbolized'"
	),
	't',
	'a symbolized dump is listed with the right sum');
$text = run_tool('jeprof', '--text', '--cum', text_of($symbolized));
like($text, qr/leaking_in/, 'jeprof reads the text of a symbolized dump without binaries');
rename("$ENV{LEAKER}.aside", "$ENV{LEAKER}.so") or die $!;
is( jeprof_bytes(text_of($symbolized)),
	ask($node, "SELECT sum(live_bytes) FROM pg_leakhunt_report('$symbolized')"),
	'the text of a symbolized dump has the same sum');

# Whatever is not as it should be is an error that says what.
my $good = slurp_file("$directory/$file");
my $foot = foot_of($good);
is($foot->{file_bytes}, length $good, 'a dump states its size');
is($foot->{checksum}, unpack('L', substr(seal_dump($good), -4)), 'a dump states its checksum');
my $catch_all = header_of($good)->{catch_all_site};
is(header_of(make_dump(sites => []))->{catch_all_site}, $catch_all, 'the header of a dump has the size that Dumps.pm knows');
is(substr(make_dump(sites => []), $catch_all, 8), substr($good, $catch_all, 8), 'a call site has the size that Dumps.pm knows');
my $damaged_file = "$directory/1.1.manual.profile";
sub damage
{
	my ($name, $bytes, $message) = @_;

	write_bytes($damaged_file, $bytes);
	my ($result, $stdout, $stderr) = $node->psql(
		'postgres',
		join('; ', map { "SELECT $_('1.1.manual.profile')" }
			  'count(*) FROM pg_leakhunt_report', 'pg_leakhunt_heap', '_pg_leakhunt_dump_file'),
		on_error_stop => 0);
	my $count = () = $stderr =~ /ERROR:  dump file "pg_leakhunt.1\.1\.manual\.profile" $message/g;

	is($count, 3, "a damaged dump is refused: $name") or diag($stderr);
}

# The same bytes, with others in a place; with the right checksum.
sub with_bytes
{
	my ($at, $bytes, $dump) = @_;
	my $changed = $dump // $good;

	substr($changed, $at, length $bytes) = $bytes;
	return seal_dump($changed);
}
my $foot_at = -length pack('Q2 q Z16 a8 L2', 0, 0, 0, '', '', 0, 0);
damage('empty', '', qr/is damaged\nDETAIL:  It is too short for a dump\./);
damage('another file', "hello\n", qr/is damaged\nDETAIL:  It is too short for a dump\./);
damage('another file of the size', 'x' x length $good,
	qr/is damaged\nDETAIL:  Its last bytes are not those of a dump\./);
damage('cut', substr($good, 0, -5), qr/is damaged\nDETAIL:  Its last bytes are not those of a dump\./);
damage('cut at its head', substr($good, 8),
	qr/is damaged\nDETAIL:  It has \d+ bytes, and was written with \d+\./);
damage('one byte more', "x$good", qr/is damaged\nDETAIL:  It has \d+ bytes, and was written with \d+\./);
damage('two in one', $good . $good, qr/is damaged\nDETAIL:  It has \d+ bytes, and was written with \d+\./);
damage('more behind it', $good . "more\n", qr/is damaged\nDETAIL:  Its last bytes are not those of a dump\./);
for my $at (0, 17, 400, 5000, 12_400, int(length($good) / 2), length($good) - 60, length($good) - 1)
{
	my $changed = $good;

	substr($changed, $at, 1) ^= "\x10";
	damage("a bit at $at", $changed,
		qr/is damaged\nDETAIL:  (?:Its checksum does not match|Its last bytes are not those of a dump|The size of its profile is invalid)\./);
}
damage("layout $_", with_bytes(8, pack('L', $_)),
	qr/has layout $_\nDETAIL:  This version of pg_leakhunt reads layout 1\.\nHINT:  The text beside it/)
  for 0, 2, 8, 4294967295;
damage('no profile', with_bytes(0, 'PLHPROX'), qr/is damaged\nDETAIL:  It does not begin with a profile\./);
damage("the pid $_", with_bytes(16, pack('l', $_)), qr/is damaged\nDETAIL:  It names no process\./) for 0, -1;
damage("a profile of $_ bytes", with_bytes($foot_at + 8, pack('Q', $_)),
	qr/is damaged\nDETAIL:  The size of its profile is invalid\./)
  for 0, 7, 8, length($good), -1;
damage('a profile that ends early', with_bytes($foot_at + 8, pack('Q', 4096)),
	qr/is damaged\nDETAIL:  (?:Its profile is too short|A part of it goes beyond its end)\./);
# Where the first record is: those that follow each other from there fill the profile.
my ($first_at) = grep {
	my $at = $_;

	while ($at < $foot->{profile_bytes})
	{
		my ($kind, $bytes) = unpack('L2', substr($good, $at, 8));

		last if $kind < 1 || $kind > 10 || $bytes < 8 || $bytes % 8 != 0;
		$at += $bytes;
	}
	$at == $foot->{profile_bytes};
} map { 8 * $_ } 16 .. $foot->{profile_bytes} / 8 - 1;
damage("$_->[0] of a first record", with_bytes($first_at + $_->[1], pack('L', $_->[2])),
	qr/is damaged\nDETAIL:  Its first record is invalid, as in a dump of a commit before 1\.0\./)
  for [ 'the kind', 0, 11 ], [ 'the size', 4, 12 ], [ 'a larger size', 4, $foot->{profile_bytes} ];
damage("a part of $_ bytes", with_bytes($foot->{profile_bytes} + 8, pack('Q', $_)),
	qr/is damaged\nDETAIL:  A part of it goes beyond its end\./)
  for length($good), -8, -1;
damage("padding of $_ bytes", with_bytes($foot->{profile_bytes} + 4, pack('L', $_)),
	qr/is damaged\nDETAIL:  A part of it goes beyond its end\./)
  for 1, 8, 4294967295;

# A call site can hold neither less than nothing nor more than there is, and the header
# no less than that.  The counters of a site are behind 40 bytes, those of the header
# behind 400.
my ($site_at) = grep {
	$_ % 8 == 0 && unpack('L', substr($good, $_, 4)) == 5 && unpack('q', substr($good, $_ + 40, 8)) == 672_000
} 0 .. $foot->{profile_bytes} - 224;
ok($site_at, 'a dump has the site that is to be damaged');
my %counters = (live_bytes => 0, live_count => 8, total_bytes => 16, total_count => 24, live_samples => 32, total_samples => 40);
for my $figure (sort keys %counters)
{
	damage("$figure of a site below 0", with_bytes($site_at + 40 + $counters{$figure}, pack('q', -1)),
		qr/is damaged\nDETAIL:  A call site has impossible figures\./);
	damage("$figure below 0", with_bytes(400 + $counters{$figure}, pack('q', -1)),
		qr/is damaged\nDETAIL:  Its figures cannot be those of a process\./);
}
damage("sums that wrap: $_", with_bytes($site_at + 40 + $counters{$_}, pack('q', 9223372036854775807)),
	qr/is damaged\nDETAIL:  The sums of its call sites overflow\./)
  for qw(live_bytes live_count total_bytes total_count);
damage('a variance that is no number', with_bytes($site_at + 40 + 48, pack('d', 'nan')),
	qr/is damaged\nDETAIL:  A call site has impossible figures\./);
my ($baseline) = grep { $_->[0] == 1 } parts_of($good);
ok(defined $baseline, 'a dump has its baseline');
damage("a baseline with $_->[0]",
	with_bytes($foot->{profile_bytes} + 16 + $_->[1], $_->[2]),
	qr/is damaged\nDETAIL:  Its baseline is invalid\./)
  for ([ 'no mark', 0, 'X' ], [ 'too many sites', 12, pack('L', 4294967295) ]);

write_bytes($damaged_file, '');
my ($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_dumps');
is($stdout, 't', 'a list with a damaged dump has the others');
like($stderr, qr/WARNING:  ignoring file ".*1.1.manual.profile"\nDETAIL:  dump file ".*1.1.manual.profile" is damaged: It is too short/,
	'a list tells which dump it leaves out, and why');
unlink "$directory/1.1.manual.profile";

# What has the name of a dump and is no file is none, and nobody waits for it.
is(system('mkfifo', "$directory/9.9.manual.profile"), 0, 'a FIFO with the name of a dump is made');
mkdir "$directory/9.8.manual.profile" or die $!;
symlink("$directory/nothing", "$directory/9.7.manual.profile") or die $!;
($result, $stdout, $stderr) = $node->psql('postgres',
	"SET statement_timeout = '60s'; SELECT count(*) > 3 FROM pg_leakhunt_dumps");
is("$stdout$stderr", 't', 'a list leaves out what is not a file, without a message');
for my $strange ('9.9.manual.profile', '9.8.manual.profile')
{
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_report('$strange')");
	like($stderr, qr/"pg_leakhunt.$strange" is not a file/, "$strange is not read, as it is not a file");
}
($result, $stdout, $stderr) = $node->psql('postgres',
	"SELECT count(*) FROM pg_leakhunt_report('/dev/zero')");
like($stderr, qr{"/dev/zero" is not a file}, 'a device is not read');
unlink "$directory/9.9.manual.profile", "$directory/9.7.manual.profile";
rmdir "$directory/9.8.manual.profile";

# What is too large for a dump is refused before it is read: files of 2 GB, nearly
# all of it holes.
sub refuse_large
{
	my ($text, $end, $message, $name) = @_;

	write_bytes("$directory/9.6.manual.profile", $text);
	truncate "$directory/9.6.manual.profile", (1 << 31) - length $end or die $!;
	append_to_file("$directory/9.6.manual.profile", $end);
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_report('9.6.manual.profile');
		 SELECT count(*) > 3 FROM pg_leakhunt_dumps;
		 SELECT pg_read_file('/proc/self/status')", on_error_stop => 0);
	like($stderr, $message, $name);
	like($stdout, qr/^t$/m, "$name: the list of dumps goes on");
	cmp_ok(($stdout =~ /^VmHWM:\s+(\d+) kB/m)[0],
		'<', 200 * 1024, "$name: the session does not become large");
	unlink "$directory/9.6.manual.profile";
}
refuse_large("LOG:  no dump\n", '', qr/is damaged\n.*Its last bytes are not those of a dump/,
	'a large file that is no dump is refused');
refuse_large($good, '', qr/is damaged\n.*Its last bytes are not those of a dump/,
	'a dump that became large is refused');
refuse_large($good, pack('Q', 1 << 31) . substr($good, $foot_at + 8),
	qr/is too large\n.*It has 2147483648 bytes/, 'a large dump is refused');
refuse_large($good, pack('Q2', 1 << 31, (1 << 31) - 4096) . substr($good, $foot_at + 16),
	qr/is too large\n.*It has 2147483648 bytes/, 'a dump of a large profile is refused');

# However many are damaged, no file stays open.
for (1 .. 400)
{
	open my $out, '>', "$directory/$_.6.manual.profile" or die $!;
	close $out;
}
($result, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT count(*) > 3 FROM pg_leakhunt_dumps');
is($stdout, 't', 'a list with 400 damaged files has the others');
is(scalar(() = $stderr =~ /WARNING:  ignoring file/g), 400, 'a list with 400 damaged files has 400 warnings');
($result, $stdout, $stderr) = $node->psql(
	'postgres', q{
	DO $$ BEGIN FOR i IN 1..400 LOOP
		BEGIN PERFORM pg_leakhunt_report(i || '.6.manual.profile');
		EXCEPTION WHEN data_corrupted THEN NULL; END;
	END LOOP; END $$; SELECT 'alive'});
is($stdout, 'alive', 'a session goes on after reading 400 damaged files');
unlink glob("$directory/*.6.manual.profile");

# Anything at all is an error at worst: with the checksum that the bytes had, or, as one
# who means harm can make it, with the right one.
srand(17);
my $calls = '';
for my $mutant (1 .. rounds(200))
{
	my $text = slurp_file("$directory/" . ($mutant % 2 ? $file : $symbolized));
	my @ends = (12_400, length $text, 800);

	for (1 .. 1 + rand(5))
	{
		my $place = int(rand($ends[ rand(3) ]));
		my $what = int(rand(5));
		substr($text, $place, 1, chr(rand(256))) if $what == 0;
		substr($text, $place, rand(200), '') if $what == 1;
		substr($text, $place, 0, substr($text, rand(length($text)), rand(200)))
		  if $what == 2;
		substr($text, $place, 4, pack('L', (0, 1, 8, 1 << 31, 0xFFFFFFFF)[ rand(5) ])) if $what == 3;
		substr($text, $place & ~7, 8, pack('q', (-1, 1 << 62, -1 << 63, 4096)[ rand(4) ])) if $what == 4;
	}
	$text = seal_dump($text) if $mutant % 4;
	write_bytes("$directory/$mutant.7.manual.profile", $text);
	my $name = "'$mutant.7.manual.profile'";
	$calls .= join ";\n",
	  "SELECT count(*) FROM pg_leakhunt_report($name)",
	  "SELECT length(pg_leakhunt_flamegraph($name)) > 0, length(pg_leakhunt_pprof($name)) > 0, length(pg_leakhunt_heap($name)) > 0, length(pg_leakhunt_folded($name, base => '$symbolized')) > 0",
	  "SELECT count(*) FROM pg_leakhunt_top($name, base => '$file'); SELECT count(*) FROM pg_leakhunt_diff('$file', $name);\n";
}
($result, $stdout, $stderr) =
  $node->psql('postgres', "$calls SELECT 'alive'; SELECT count(*) > 0 FROM pg_leakhunt_dumps", on_error_stop => 0);
like($stdout, qr/^alive$/m, 'no damaged file takes the session down');
cmp_ok(scalar(() = $stderr =~ /is damaged\n/g), '>', rounds(150), 'most damaged files are found damaged');
cmp_ok(scalar(() = $stdout =~ /^t\|t\|t\|t$/mg), '>', 0, 'some changed files can be read');
unlink glob("$directory/*.7.manual.*");

# A dump as it is, for who can't get at the file.
sub bytes_of
{
	my ($arguments, $role) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE ${\($role // 'postgres')}; SELECT encode(_pg_leakhunt_dump_file($arguments), 'hex')",
		on_error_stop => 0);

	return $stderr ne '' ? $stderr : pack 'H*', $stdout;
}
for my $name ($file, $symbolized)
{
	ok(bytes_of("'$name'") eq slurp_file("$directory/$name"), "_pg_leakhunt_dump_file returns the bytes of $name");
}
write_bytes("$directory/1.8.manual.profile", "LOG:  no dump\n");
like(bytes_of("'1.8.manual.profile'"), qr/ERROR: .*is damaged/, '_pg_leakhunt_dump_file refuses a file that is no dump');
write_bytes("$directory/1.8.manual.profile", substr($good, 0, -1) . chr(1 ^ ord substr($good, -1)));
like(bytes_of("'1.8.manual.profile'"), qr/ERROR: .*is damaged\n.*checksum/, '_pg_leakhunt_dump_file refuses a damaged dump');
unlink "$directory/1.8.manual.profile";
like(bytes_of("'../PG_VERSION'"), qr/ERROR: .*could not open dump file/, '_pg_leakhunt_dump_file refuses another file');

# Who may read and write.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats');
append_to_file("$directory/1.1.manual.profile", "damaged\n");
for my $closed ($file, $symbolized, '1.1.manual.profile', '1.2.manual.profile')
{
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_report('$closed')");
	is( $stderr =~ s/^psql:<stdin>:1: |\nCONTEXT.*//gr,
		qq{ERROR:  permission denied for dump file "$closed"
DETAIL:  Only roles with privileges of the process' role or of "pg_read_all_stats" may see it.
HINT:  Other roles are not told whether a file is missing or damaged.},
		"a role without privileges is told the same of $closed as of others");
}
($result, $stdout, $stderr) = $node->psql('postgres',
	'SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_dumps');
is("$stdout$stderr", '0', 'a role without privileges is not warned of damaged files');
($result, $stdout, $stderr) = $node->psql('postgres',
	'SET ROLE reader; SELECT count(*) > 3 FROM pg_leakhunt_dumps');
like($stderr, qr/ignoring file ".*1.1.manual.profile"/, 'a role with pg_read_all_stats is warned of damaged files');
unlink "$directory/1.1.manual.profile";
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
		"SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_report('$own') WHERE function_of(site) = 'leaking_top'"
	),
	1,
	'a role without privileges reads the dump of its own process');
is( $node->safe_psql('postgres',
		"SET ROLE nobody; SELECT string_agg(file, ' ') FROM pg_leakhunt_dumps"),
	$own,
	'a role without privileges sees no dumps but its own');
ok(bytes_of("'$own'", 'nobody') eq slurp_file("$directory/$own"), 'a role without privileges gets the bytes of its own dump');

# Another cluster may share the directory: its role with the same OID is another one.
my $foreign = slurp_file("$directory/$own");
substr($foreign, 48, 8) = pack('Q', 4711);
$foreign = with_parts(substr($foreign, 0, foot_of($foreign)->{profile_bytes}), 'manual', parts_of($foreign));
write_bytes("$directory/1.9.manual.profile", $foreign);
is( ask($node,
		"SET ROLE nobody; SELECT count(*) FROM pg_leakhunt_dumps WHERE file = '1.9.manual.profile'"),
	0,
	'a role does not see a dump of another cluster, whatever OID it has there');
like(bytes_of("'1.9.manual.profile'", 'nobody'), qr/permission denied for dump file/,
	'a role does not get a dump of another cluster');
is( ask($node,
		"SET ROLE reader; SELECT username IS NULL, database IS NULL, count(*) OVER () FROM pg_leakhunt_dumps WHERE file = '1.9.manual.profile'"),
	't|t|1',
	'a dump of another cluster has no names of roles and databases of this one');
unlink "$directory/1.9.manual.profile", "$directory/1.9.manual.heap";

# A dump with a great many parts takes no more memory than one.
write_bytes("$directory/1.9.manual.profile",
	with_parts(substr($foreign, 0, foot_of($foreign)->{profile_bytes}), 'manual', map { [ 2, '' ] } 1 .. 50000));
cmp_ok(
	ask($node,
		"SELECT count(*) FROM pg_leakhunt_report('1.9.manual.profile'); SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\\s+(\\d+)'))[1]::int"
	  ) =~ s/.*\n//r,
	'<', 200000,
	'a dump with 50,000 empty parts is read in less than 200 MB');
unlink "$directory/1.9.manual.profile", "$directory/1.9.manual.heap";
like(bytes_of("'$file'", 'nobody'), qr/permission denied for dump file "\Q$file\E"/,
	'a role without privileges does not get the bytes of other dumps');
my $own_bytes = slurp_file("$directory/$own");
substr($own_bytes, 12_400, 1) ^= "\x10";
write_bytes("$directory/$own", $own_bytes);
($result, $stdout, $stderr) = $node->psql('postgres',
	"SET ROLE nobody; SELECT * FROM pg_leakhunt_report('$own')");
like($stderr, qr/is damaged\n.*Its checksum does not match/,
	'a role without privileges is told what is wrong with its own dump');
unlink "$directory/$own";
for my $case (
	[ 'reader', "pg_leakhunt_report('1.2.manual.profile')", qr/could not open dump file "pg_leakhunt\/1.2/ ],
	[ 'nobody', "pg_leakhunt_report('$file.tmp')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_report('')", qr/permission denied for file/ ],
	[ 'reader', "_pg_leakhunt_dump_file('../postgresql.conf')", qr/permission denied for file/ ],
	[ 'reader', "_pg_leakhunt_dump_file('1.2.manual.profile')", qr/could not open dump file "pg_leakhunt\/1.2/ ],
	[ 'nobody', "_pg_leakhunt_dump_file('1.2.manual.profile')", qr/permission denied for dump file/ ],
	[ 'nobody', "pg_leakhunt_flamegraph($other_pid)", qr/permission denied for process/ ],
	[ 'nobody', "pg_leakhunt_dump($other_pid)", qr/permission denied for function/ ],
	[ 'reader', "pg_leakhunt_report('../postgresql.conf')", qr/permission denied for file/ ],
	[ 'reader', "pg_leakhunt_report('/etc/passwd')", qr/permission denied for file/ ],
	[ 'postgres', "pg_leakhunt_report('../postgresql.conf')", qr/could not open dump file/ ],
	[ 'postgres', "pg_leakhunt_report('postgresql.conf')", qr/could not open dump file "pg_leakhunt\/postgresql.conf"/ ],
	[ 'postgres', "pg_leakhunt_report('/tmp')", qr/is not a file|could not open/ ],
	[ 'postgres', 'pg_leakhunt_dump(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ 'postgres', 'pg_leakhunt_flamegraph(99999999)', qr/WARNING:  PID 99999999 is not a/ ],
	[ 'postgres', "pg_leakhunt_top($other_pid, 'hour')", qr/ERROR:  cannot sum up by "hour"/ ],
	[ 'postgres', "pg_leakhunt_folded($other_pid, growth => true)", qr/ERROR:  there is no baseline of process/ ])
{
	my ($role, $call, $message) = @$case;
	($result, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE $role; SELECT count(*) FROM $call");
	like($stderr, $message, "$role is refused with the reason: $call");
}
cmp_ok(
	$node->safe_psql(
		'postgres', 'SET ROLE reader; SELECT count(*) FROM pg_leakhunt_dumps'),
	'>', 0, 'a role with pg_read_all_stats sees dumps');
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
	'a process that grows writes a series of dumps');
kill 'KILL', $pid;
$session->{run}->finish;
wait_for_server($node, $pid);
is( ask(
		$node,
		"SELECT bool_and(grown >= 10 * 1024 * 1024 AND after >= '1 s') FROM (SELECT live_bytes - lag(live_bytes) OVER w AS grown, created_at - lag(created_at) OVER w AS after FROM pg_leakhunt_dumps WHERE pid = $pid AND reason = 'growth' WINDOW w AS (ORDER BY created_at)) d"
	),
	't',
	'dumps of a series are 10 MB and a second apart at least');
my @series = split /\n/,
  ask($node, sprintf($growth, 'file') . ' ORDER BY created_at');
is( ask(
		$node,
		"SELECT function_of(site) FROM pg_leakhunt_diff('$series[0]', '$series[-1]') LIMIT 1"
	),
	'leaking_top',
	'dumps of a series can be compared');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|signal 11/, 'no process has crashed');
done_testing();
