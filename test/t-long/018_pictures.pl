# Flame graphs in a real browser: looked at, clicked, searched and walked
# through by keys; and what large or odd profiles become.  Needs Chromium, and
# files that it can open.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Browser;
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no Chromium' unless Browser::is_there();
needs_programs('go');

# codes of keys in WebDriver
my ($enter, $escape, $left, $up, $right, $down) =
  ("\x{E007}", "\x{E00C}", "\x{E012}", "\x{E013}", "\x{E014}", "\x{E015}");

my $node = new_server('main', "pg_leakhunt.enabled = off\n",
	extra => [ '--encoding=UTF8', '--locale=C' ]);
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
my $hostile = q{</title></svg><script>document.title="broken"</script>]]>&amp;};
$session->query_safe(
	qq{SELECT pg_leakhunt_start($pid, 1); SELECT leak_top(100, 20000); SELECT leak_cache(1000, 300);
	SELECT leak_named_context('$hostile', 50000); SELECT leak_named_context(E'\\u4e2d\\u0001', 50000)}
);

my $directory = PostgreSQL::Test::Utils::tempdir;

# A picture as a file, and the file.
sub save
{
	my ($name, $arguments) = @_;
	my $path = "$directory/$name.svg";

	open my $out, '>', $path or die $!;
	print $out $node->safe_psql('postgres',
		"SELECT pg_leakhunt_flamegraph($arguments)");
	close $out;
	return $path;
}

my $browser = Browser->start($directory,
	"$FindBin::RealBin/../perl/flamegraph_probe.js");

# What the functions of that script say.
sub probe
{
	return $browser->result(@_);
}

my $live = save('live', "$pid, context => true");
my ($percent) = $node->safe_psql('postgres',
	"SELECT part FROM (SELECT name, cum_bytes / sum(flat_bytes) OVER () AS part FROM pg_leakhunt_top($pid)) t WHERE name = 'leaking_top'"
);
is( $node->safe_psql('postgres',
		"SELECT bool_and(flat_percent = round(flat_percent::numeric, 2) AND cum_percent = round(cum_percent::numeric, 2)) FROM pg_leakhunt_top($pid)"
	),
	't',
	'percentages of pg_leakhunt_top have two decimals');
is( $node->safe_psql(
		'postgres', qq{
		SELECT array_agg(flat_bytes ORDER BY number) = array_agg(flat_bytes ORDER BY flat_bytes DESC)
		FROM (SELECT flat_bytes, row_number() OVER () AS number FROM pg_leakhunt_top($pid)) top}),
	't',
	'what allocates most by itself comes first in pg_leakhunt_top');
for my $width (1280, 800)
{
	$browser->resize($width, 900);
	$browser->open($live);
	is(probe('count', 'parsererror'), 0, "$width px: the picture is well-formed");
	is_near(probe('widthOf', 'leaking_top'),
		0.01, $percent, "$width px: the leak is as wide as it should be");
	is(probe('labelOf', 'leaking_top'), 'leaking_top', "$width px: the leak has its name as label");
	ok(probe('isReadable', 'leaking_top'), "$width px: the label of the leak is readable");
	is(probe('framesBeyondWindow'), 0, "$width px: all frames are within the window");
	$browser->screenshot("$directory/live$width.png");
}
$browser->resize(1280, 900);
$browser->open($live);
like(
	probe('tooltipOf', 'leaking_top'),
	qr/^leaking_top \(leaker\.c:\d+\)\n1953 kB in 20000 objects, \d+\.\d\d%\nleaker\.so$/,
	'the tooltip of a frame has its line, bytes, objects, percentage and module');
unlike($browser->value('document.documentElement.textContent'), qr/\b1 objects|\b1 narrow frames/, 'a picture has one object as one');
like($browser->value('document.documentElement.textContent'),
	qr/client backend $pid: \d.*live/, 'the title of a picture has the process and its state');

# names are text, whatever they are
is(probe('count', 'script'), 1, 'a picture has no script but ours');
ok(probe('frameOf', $hostile), 'a hostile name is shown as it is');
ok(probe('frameOf', "\x{4e2d}\x{fffd}"),
	'a character that XML has not is replaced in a name');

like($browser->value("document.querySelector('svg > title').textContent"), qr/: \d+ kB live: SELECT leak_top/, 'the statement is in the title');

# zoom by click, and back
cmp_ok(probe('widthOf', 'CacheMemoryContext'),
	'<', 0.5, 'a context is a first level');
$browser->click("frameOf('CacheMemoryContext')");
cmp_ok(probe('widthOf', 'CacheMemoryContext'), '>', 0.99, 'a click on a frame zooms');
ok(probe('isHidden', 'leaking_top'), 'a zoomed picture hides what is elsewhere');
$browser->screenshot("$directory/zoomed.png");
$browser->click("document.getElementById('reset')");
is_near(probe('widthOf', 'leaking_top'), 0.01, $percent, 'the button reset ends the zoom');

# search
$browser->click("document.getElementById('search')");
$browser->type('LEAKING_TOP');
like(
	$browser->value("document.getElementById('matched').textContent"),
	qr/^Matched: @{[sprintf('%.1f', 100 * $percent)]}%$/,
	'a search tells the part that matches');
ok(probe('isMatched', 'leaking_top'), 'a search marks the frame that matches');
is(probe('count', '.match'), 1, 'a search marks no other frame');
$browser->screenshot("$directory/searched.png");
$browser->type($escape);
is(probe('count', '.match'), 0, 'Esc ends the search');

# keys
is(probe('focused'), 'all', 'the root has the focus at first');
$browser->type($down);
is(probe('focused'), 'TopMemoryContext', 'the key down moves the focus to a child');
$browser->type($right);
isnt(probe('focused'), 'TopMemoryContext', 'the key right moves the focus to a sibling');
$browser->type($left);
$browser->type($enter);
cmp_ok(probe('widthOf', 'TopMemoryContext'), '>', 0.99, 'Enter zooms');
$browser->type($up);
is(probe('focused'), 'all', 'the key up moves the focus to the parent');
$browser->type($escape);
is_near(probe('widthOf', 'leaking_top'), 0.01, $percent, 'Esc ends the zoom');
$browser->type('/');
is($browser->value('document.activeElement.id'), 'search', 'the key / begins a search');
for my $key ([ 'ArrowLeft', 'altKey' ], [ 'ArrowDown', 'ctrlKey' ], [ 'Enter', 'metaKey' ])
{
	ok(probe('isLeftToBrowser', @$key),
		"$key->[0] with $key->[1] is the browser's");
}
is(probe('lostByClicks', 1), 0, 'a click on a frame of a small picture keeps what is in it');

# growth
$session->query_safe(
	"SELECT hold_chunk(3000000); SELECT pg_leakhunt_baseline($pid); SELECT release_chunk(); SELECT leak_top(100, 50000)"
);
$browser->open(save('growth', "$pid, growth => true"));
my $grown = probe('colourOf', 'leaking_top');
cmp_ok($grown->[0], '>', $grown->[2] + 100, 'what grew is red in a picture of growth');
my $shrunk = probe('colourOf', 'hold_chunk');
cmp_ok($shrunk->[2], '>', $shrunk->[0] + 100, 'what shrank is blue in a picture of growth');
like(probe('tooltipOf', 'leaking_top'),
	qr/\n\+4883 kB in 50000 objects/, 'a tooltip in a picture of growth has the growth');
$browser->screenshot("$directory/growth.png");

# nothing at all
$browser->open(save('none', "$pid, growth => true"))
  if $node->safe_psql('postgres', "SELECT pg_leakhunt_baseline($pid)");
is(probe('count', 'svg.frame'), 1, 'a picture of nothing has one frame');
is($browser->value("frames()[0].getAttribute('x')"), '0%', 'the frame of a picture of nothing begins at the left');

# no more samples
$session->query_safe("SELECT pg_leakhunt_stop($pid)");
like(slurp_file(save('stopped', $pid)),
	qr/<text[^<]*>not sampling now, /, 'a picture of a process that is not sampled says so');
is( $node->safe_psql('postgres',
		"SELECT position('not sampling now'::bytea IN pg_leakhunt_pprof($pid)) > 0, position('one sample in'::bytea IN pg_leakhunt_pprof($pid))"
	),
	't|0',
	'a profile for pprof of a process that is not sampled says so');

my $symbolized =
  $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($pid, true)");

my ($mapped) = slurp_file("/proc/$pid/maps") =~ m{ (/\S+/$pid)$}m;

# A time that no timestamp can be, which is none: started_at is behind 32 bytes.
my $started_at = substr(slurp_file($mapped), 32, 8);
sub write_started_at
{
	my ($bytes) = @_;

	chmod 0600, $mapped;
	open my $profile, '+<:raw', $mapped or die $!;
	seek($profile, 32, 0) && print $profile $bytes or die $!;
	close $profile or die $!;
	chmod 0400, $mapped;
}
my $sees_start = "SELECT started_at IS NULL, started_at::text IS NULL FROM _pg_leakhunt_processes() WHERE pid = $pid";
is($node->safe_psql('postgres', $sees_start), 'f|f', 'a process has the time of its start');
write_started_at(pack('q', 9223372036854775806));
is($node->safe_psql('postgres', $sees_start), 't|t', 'a process whose time of start is damaged has none');
write_started_at($started_at);

# Unwinding fails: stacks without frames, here by way of the profile's file.
chmod 0600, $mapped or die $!;
cmp_ok(run_tool("$FindBin::RealBin/../unit/cut_stacks", $mapped),
	'>', 10, 'more than ten stacks are cut');
is( $node->safe_psql('postgres',
		"SELECT string_agg(DISTINCT site, ', ') FROM pg_leakhunt_report WHERE pid = $pid"
	),
	'[no stack]', 'sites whose stacks were cut have no frame');
is( $node->safe_psql(
		'postgres', qq{
		SELECT (SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid)) = live_bytes,
			(SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded($pid), E'\\n'), E'\\n') line) = live_bytes
		FROM pg_leakhunt_processes WHERE pid = $pid}),
	't|t',
	'bytes without a stack are in the sums');
$session->quit;

# Write a dump with these stacks, each of a site of 100 bytes, and these binaries.
my $dumps = $node->data_dir . '/pg_leakhunt';
sub write_stacks
{
	my ($name, $modules, @stacks) = @_;

	write_dump(
		"$dumps/$name",
		modules => $modules,
		sites => [ map { { stack => $_ } } @stacks ]);
}

# The frames of a picture: [from, to, depth, name].
sub frames
{
	my ($path) = @_;

	return map { [/data-x="(\d+)" data-end="(\d+)" data-d="(\d+)"[^>]*><title>(.*?)(?:&#10;|<)/] }
	  grep { /^<svg class="frame"/ } split /\n/, slurp_file($path);
}

# A profile of 100,000 frames: 2,500 stacks of 40, of functions in no binary.
srand(1);
my @stacks;
for my $site (1 .. 2500)
{
	my $address = 0;

	push @stacks,
	  [
		map {
			$address = ($address * 7 + int(rand(3)) + $_) % 4001;
			4096 + $address
		} 1 .. 40 ];
}
write_stacks('1.1.manual.profile', [], @stacks);
my $large = save('large', "'1.1.manual.profile'");
cmp_ok(-s $large, '<', 2_000_000,
	'a large profile makes no large picture');
$browser->open($large);
is(probe('lostByClicks', 211), 0, 'a click on a frame of a large picture keeps what is in it');

# Nothing of the header runs out of a phone: that narrow frames are merged, and a legend
# of many parts.  Stacks that begin alike begin with one frame.
my @trunk = map { frame(1, 4096 * $_) } reverse 1 .. 9;
write_dump(
	"$dumps/1.7.manual.profile",
	modules => [ map { "/usr/lib/postgresql/$_" } 'bin/postgres', 'lib/shop.so', 'lib/pgoutput.so', 'lib/libc.so.6' ],
	sites => [ map { { stack => [ frame($_, 16), @trunk ] } } 1 .. 4 ],
	names => [
		(map { [ frame(1, 4096 * $_), "caller_$_" ] } 1 .. 9),
		(map { [ frame($_, 16), "function_with_a_name_that_is_too_long_$_" ] } 1 .. 4) ]);
my $colourful = save('colourful', "'1.7.manual.profile'");
for my $width (0, 360)
{
	$browser->resize(640, 900);
	$browser->emulate($width, $width > 0);
	for my $path ($large, $colourful)
	{
		$browser->open($path);
		is(probe('headerBeyondWindow'), 0, 'the header of a picture fits a narrow window' . ($width ? ', and a phone' : ''));
		ok(probe('isHeaderAboveFrames'), 'the frames are below the header' . ($width ? ' on a phone' : ''));
	}
	is($browser->value('innerWidth'), $width, 'a picture is as wide as a phone') if $width;
}
my $ground = $browser->value('getComputedStyle(document.documentElement).backgroundColor');
cmp_ok(($ground =~ /(\d+)/)[0], '<', 60, 'a picture is dark where the system is');
is_deeply(
	[ sort @{ probe('legend', 'server|library|extension|replication') } ],
	[ 'extension or language', 'other parts of the server', 'replication', 'system library' ],
	'the legend tells the parts of the server');
is(probe('labelOf', 'caller_1 ... '), 'caller_1 ... caller_9 (10 frames)', 'frames that all stacks begin with are one');
like(probe('labelOf', 'function_with_a_name_that_is_too_long_2'), qr/^func.*\.\.\..*_2$/, 'a name is shortened in its middle');
$browser->click("frameOf('function_with_a_name_that_is_too_long_3')");
like($browser->value("document.getElementById('hover').textContent"), qr/^function_with_a_name_that_is_too_long_3.*100 bytes.*pgoutput\.so/, 'what there is to say of a frame is shown beside the pointer');
$browser->emulate(0, 0);
$browser->screenshot("$directory/colourful.png");
$browser->stop;

# Sites that are all as wide, with functions of their own: each is seen, and what
# is not drawn is accounted for.
write_stacks(
	'1.2.manual.profile', [],
	map {
		my $site = $_;
		[ map { 65536 * $_ + $site } 1 .. 54 ]
	} 1 .. 150);
my $even = save('even', "'1.2.manual.profile'");
for my $path ($large, $even)
{
	my @frames = frames($path);
	my @rests = grep { $_->[3] =~ /^\[\d+ narrow frames?\]$/ } @frames;
	my ($merged, $all) = slurp_file($path) =~ /; (\d+) narrow frames? of (\d+) (?:is|are) merged/;

	cmp_ok(scalar(@frames), '<=', 5000, 'a picture has at most 5000 frames');
	cmp_ok(@frames - @rests, '>=', 2500, 'a picture with merged frames has at least 2500 others');
	is(@frames - @rests + $merged, $all, 'a picture tells how many frames it merged');
	my $sum = 0;
	$sum += $_ for map { $_->[3] =~ /(\d+) narrow/ } @rests;
	is($sum, $merged, 'a picture shows where it merged frames');
}
my @frames = frames($even);
my $leaves = 0;
for my $i (0 .. $#frames)
{
	next if $i < $#frames && $frames[ $i + 1 ][2] > $frames[$i][2];
	$leaves += $frames[$i][1] - $frames[$i][0];
}
is($leaves, 15000, 'a picture leaves out no bytes');

# What stands for a stack is of no binary.
write_stacks('1.3.manual.profile', [], undef);
my $startup = slurp_file(save('startup', "'1.3.manual.profile'"));
like($startup, qr/<title>\[no stack\]/, 'a site without a stack is in the picture');
unlike($startup, qr{width="12"[^>]*/><text[^>]*>\[no stack\]<}, 'a site without a stack has the colour of no binary');

# Names that a dump has with it may be odd.
my $named = slurp_file("$dumps/$symbolized");
my @names = names_of($named);
cmp_ok(scalar(grep { $_->[1] eq 'leaking_top' } @names), '>', 0, 'a symbolized dump has names with it');

# Write the dump with changed names: the code gets the fields of each.
sub write_odd
{
	my ($name, $change) = @_;

	write_bytes("$dumps/$name",
		with_names($named, map { my @fields = @$_; $change->(\@fields); \@fields } @names));
}
write_odd('1.7.manual.profile', sub { $_[0][1] =~ s/^leak/hide/ });
is( $node->safe_psql('postgres',
		"SELECT sum(older_bytes) > 1000000, count(*) FILTER (WHERE older_bytes <> newer_bytes) FROM pg_leakhunt_diff('$symbolized', '1.7.manual.profile')"
	),
	't|0',
	'sites of two dumps are the same, whatever names the dumps have for their functions');
is( $node->safe_psql('postgres',
		"SELECT count(*) FILTER (WHERE site LIKE 'hid%') > 0, count(*) FILTER (WHERE site LIKE 'leak%') FROM pg_leakhunt_report('1.7.manual.profile')"
	),
	't|0',
	'sites of a dump have the names that the dump has');
write_odd('1.4.manual.profile', sub { $_[0][2] = '' });
unlike(slurp_file(save('odd', "'1.4.manual.profile'")),
	qr/null/, 'a line without a file is not shown as null');
write_odd('1.5.manual.profile', sub { $_[0][4] = 1 });

# Addresses that pprof sees in a dump.
sub pprof_addresses
{
	my ($file) = @_;
	my $path = "$directory/$file.pb";
	my ($raw, $stderr) = ('', '');

	open my $out, '>:raw', $path or die $!;
	print $out pack('H*', $node->safe_psql('postgres',
			"SELECT encode(pg_leakhunt_pprof('$file'), 'hex')"));
	close $out;
	IPC::Run::run([ 'go', 'tool', 'pprof', '-raw', $path ],
		'>', \$raw, '2>', \$stderr) or diag($stderr);
	return join "\n", sort $raw =~ /^\s+\d+: (0x[0-9a-f]+) M=\d+/mg;
}
my $addresses = pprof_addresses($symbolized);
cmp_ok(scalar(split /\n/, $addresses), '>', 20, 'pprof sees more than 20 addresses in a dump');
is(pprof_addresses('1.5.manual.profile'),
	$addresses, 'pprof sees the same addresses in a dump that calls all frames inlined');

# Millions of frames take some room in the file, and not much more here.
my $stack = [ map { 16 + $_ % 7 } 1 .. 120 ];
write_stacks('1.6.manual.profile', [], ($stack) x 5000);
for my $call ('pprof', 'folded', 'flamegraph')
{
	my ($kilobytes) = $node->safe_psql('postgres',
		"SELECT length(pg_leakhunt_$call('1.6.manual.profile')) > 0; SELECT pg_read_file('/proc/self/status')"
	) =~ /^VmHWM:\s+(\d+) kB/m;

	cmp_ok($kilobytes, '<', 150 * 1024, "$call of millions of frames takes less than 150 MB");
}

$node->stop;
done_testing();
