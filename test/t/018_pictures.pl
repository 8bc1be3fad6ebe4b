# Flame graphs in a real browser: looked at, clicked, searched and walked
# through by keys; and what large or odd profiles become.  Needs Chromium, and
# files that it can open.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Browser;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no Chromium' unless Browser::is_there();

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
	'percentages have two decimals');
is( $node->safe_psql(
		'postgres', qq{
		SELECT array_agg(flat_bytes ORDER BY number) = array_agg(flat_bytes ORDER BY flat_bytes DESC)
		FROM (SELECT flat_bytes, row_number() OVER () AS number FROM pg_leakhunt_top($pid)) top}),
	't',
	'what allocates most by itself comes first');
for my $width (1280, 800)
{
	$browser->resize($width, 900);
	$browser->open($live);
	is(probe('count', 'parsererror'), 0, "$width px: well-formed");
	is_near(probe('widthOf', 'leaking_top'),
		0.01, $percent, 'the leak is as wide as it should be');
	is(probe('labelOf', 'leaking_top'), 'leaking_top', 'its name');
	ok(probe('isReadable', 'leaking_top'), 'is readable');
	is(probe('framesBeyondWindow'), 0, 'all within the window');
	$browser->screenshot("$directory/live$width.png");
}
$browser->resize(1280, 900);
$browser->open($live);
like(
	probe('tooltipOf', 'leaking_top'),
	qr/^leaking_top \(leaker\.c:\d+\)\n1953 kB in 20000 objects, \d+\.\d\d%\nleaker\.so$/,
	'tooltip');
like($browser->value('document.documentElement.textContent'),
	qr/client backend $pid: \d.*live/, 'title');

# names are text, whatever they are
is(probe('count', 'script'), 1, 'no script but ours');
ok(probe('frameOf', $hostile), 'a hostile name is shown as it is');
ok(probe('frameOf', "\x{4e2d}\x{fffd}"),
	'so is one with characters that XML has not');

# zoom by click, and back
cmp_ok(probe('widthOf', 'CacheMemoryContext'),
	'<', 0.5, 'a context is a first level');
$browser->click("frameOf('CacheMemoryContext')");
cmp_ok(probe('widthOf', 'CacheMemoryContext'), '>', 0.99, 'a click zooms');
ok(probe('isHidden', 'leaking_top'), 'what is elsewhere goes');
$browser->screenshot("$directory/zoomed.png");
$browser->click("document.getElementById('reset')");
is_near(probe('widthOf', 'leaking_top'), 0.01, $percent, 'reset');

# search
$browser->click("document.getElementById('search')");
$browser->type('LEAKING_TOP');
like(
	$browser->value("document.getElementById('matched').textContent"),
	qr/^Matched: @{[sprintf('%.1f', 100 * $percent)]}%$/,
	'search tells the part that matches');
ok(probe('isMatched', 'leaking_top'), 'and marks it');
is(probe('count', '.match'), 1, 'and nothing else');
$browser->screenshot("$directory/searched.png");
$browser->type($escape);
is(probe('count', '.match'), 0, 'Esc ends the search');

# keys
is(probe('focused'), 'all', 'the root has the focus');
$browser->type($down);
is(probe('focused'), 'TopMemoryContext', 'down');
$browser->type($right);
isnt(probe('focused'), 'TopMemoryContext', 'right');
$browser->type($left);
$browser->type($enter);
cmp_ok(probe('widthOf', 'TopMemoryContext'), '>', 0.99, 'Enter zooms');
$browser->type($up);
is(probe('focused'), 'all', 'up');
$browser->type($escape);
is_near(probe('widthOf', 'leaking_top'), 0.01, $percent, 'Esc goes back');
$browser->type('/');
is($browser->value('document.activeElement.id'), 'search', '/ searches');
for my $key ([ 'ArrowLeft', 'altKey' ], [ 'ArrowDown', 'ctrlKey' ], [ 'Enter', 'metaKey' ])
{
	ok(probe('isLeftToBrowser', @$key),
		"$key->[0] with $key->[1] is the browser's");
}
is(probe('lostByClicks', 1), 0, 'a click on a frame keeps what is in it');

# growth
$session->query_safe(
	"SELECT hold_chunk(3000000); SELECT pg_leakhunt_baseline($pid); SELECT release_chunk(); SELECT leak_top(100, 50000)"
);
$browser->open(save('growth', "$pid, growth => true"));
my $grown = probe('colourOf', 'leaking_top');
cmp_ok($grown->[0], '>', $grown->[2] + 100, 'what grew is red');
my $shrunk = probe('colourOf', 'hold_chunk');
cmp_ok($shrunk->[2], '>', $shrunk->[0] + 100, 'what shrank is blue');
like(probe('tooltipOf', 'leaking_top'),
	qr/\n\+4883 kB in 50000 objects/, 'by how much');
$browser->screenshot("$directory/growth.png");

# nothing at all
$browser->open(save('none', "$pid, growth => true"))
  if $node->safe_psql('postgres', "SELECT pg_leakhunt_baseline($pid)");
is(probe('count', 'svg.frame'), 1, 'a picture of nothing');
is($browser->value("frames()[0].getAttribute('x')"), '0%', 'has a place');

# no more samples
$session->query_safe("SELECT pg_leakhunt_stop($pid)");
like(slurp_file(save('stopped', $pid)),
	qr/<text[^<]*>not sampling now, /, 'the picture says so');
is( $node->safe_psql('postgres',
		"SELECT position('not sampling now'::bytea IN pg_leakhunt_pprof($pid)) > 0, position('one sample in'::bytea IN pg_leakhunt_pprof($pid))"
	),
	't|0',
	'so does the profile for pprof');

my $symbolized =
  $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($pid, true)");
my $dump = $node->safe_psql('postgres',
	"SELECT pg_read_file('pg_leakhunt/' || pg_leakhunt_dump($pid))");
my ($header) = $dump =~ /\n(# pg_leakhunt.*)\n# sites=/s;

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
my $sees_start = "SELECT started_at IS NULL, started_at::text IS NULL FROM pg_leakhunt_processes() WHERE pid = $pid";
is($node->safe_psql('postgres', $sees_start), 'f|f', 'when a process started');
write_started_at(pack('q', 9223372036854775806));
is($node->safe_psql('postgres', $sees_start), 't|t', 'a time that is damaged');
write_started_at($started_at);

# Unwinding fails: stacks without frames, here by way of the profile's file.
chmod 0600, $mapped or die $!;
cmp_ok(run_tool("$FindBin::RealBin/../unit/cut_stacks", $mapped),
	'>', 10, 'stacks that were cut');
is( $node->safe_psql('postgres',
		"SELECT string_agg(DISTINCT site, ', ') FROM pg_leakhunt_report WHERE pid = $pid"
	),
	'[no stack]', 'no frame is left of them');
is( $node->safe_psql(
		'postgres', qq{
		SELECT (SELECT sum(flat_bytes) FROM pg_leakhunt_top($pid)) = live_bytes,
			(SELECT sum((regexp_match(line, ' (\\d+)\$'))[1]::bigint) FROM string_to_table(rtrim(pg_leakhunt_folded($pid), E'\\n'), E'\\n') line) = live_bytes
		FROM pg_leakhunt_processes WHERE pid = $pid}),
	't|t',
	'bytes without a stack are in the sums');
$session->quit;

# Where the binaries of the dumps that are made up begin; so far apart are they.
my $module_size = 1 << 28;

# Have the text of a dump state its size.
sub state_size
{
	my ($text) = @_;

	return $text =~ s/ bytes=[\d ]{15}/sprintf(' bytes=%-15d', length $text)/er;
}

# A dump with these sites, each of them two lines, and these binaries.
sub write_dump
{
	my ($name, $sites, $modules, @texts) = @_;
	my $bytes = 100 * $sites;
	my $address = $module_size;
	my (@modules, @mapped);

	for my $path (@$modules)
	{
		push @modules,
		  sprintf(
			"# module base=0x%x build_id=00 text_address=0 text_bytes=4096 file_offset=0 seen_at_us=1 path=$path\n",
			$address);
		push @mapped,
		  sprintf("%x-%x r-xp 00000000 00:00 0 %s\n", $address, $address + 4096, $path);
		$address += $module_size;
	}
	my $text = join '',
	  "heap profile: $sites: $bytes [$sites: $bytes] @ heapprofile\n$header\n# sites=$sites folded=0 modules=${\ scalar @modules}\n",
	  @modules, "# context number=1 name=c\n", @texts,
	  "\nMAPPED_LIBRARIES:\n", @mapped;
	$text = state_size($text);
	open my $out, '>', $node->data_dir . "/pg_leakhunt/$name" or die $!;
	print $out $text;
	close $out;
}

# A site of 100 bytes with a stack, the innermost function first.
sub site
{
	return
	  "# site context=1 lifetime=session live_bytes=100 live_count=1 samples=1 peak_bytes=0 first_us=1 last_us=1\n1: 100 [1: 100] @ @_\n";
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
my @texts;
for my $site (1 .. 2500)
{
	my $address = 0;

	push @texts,
	  site(
		map {
			$address = ($address * 7 + int(rand(3)) + $_) % 4001;
			sprintf('0x%x', 4096 + $address)
		} 1 .. 40);
}
write_dump('1.1.manual.heap', 2500, [], @texts);
my $large = save('large', "'1.1.manual.heap'");
cmp_ok(-s $large, '<', 2_000_000,
	'a large profile makes no large picture');
$browser->open($large);
is(probe('lostByClicks', 211), 0, 'a click on a frame keeps what is in it');

# Nothing of the header runs out of a narrow window: that narrow frames are merged,
# and a legend of many binaries.
write_dump(
	'1.7.manual.heap', 10,
	[ map { "/usr/lib/postgresql/lib/library_$_.so" } 1 .. 10 ],
	map { site(sprintf('0x%x', $module_size * $_ + 16)) } 1 .. 10);
my $colourful = save('colourful', "'1.7.manual.heap'");
$browser->resize(640, 900);
for my $path ($large, $colourful)
{
	$browser->open($path);
	is(probe('headerBeyondWindow'), 0, 'the header fits a narrow window');
}
is(scalar @{ probe('legend', '^library_\d+[.]so$|^others$') },
	9, 'with a legend of many binaries');
ok(probe('isHeaderAboveFrames'), 'which the frames are below');
$browser->screenshot("$directory/colourful.png");
$browser->stop;

# Sites that are all as wide, with functions of their own: each is seen, and what
# is not drawn is accounted for.
write_dump('1.2.manual.heap', 150, [],
	map {
		my $site = $_;
		site(map { sprintf('0x%x', 65536 * $_ + $site) } 1 .. 54)
	} 1 .. 150);
my $even = save('even', "'1.2.manual.heap'");
for my $path ($large, $even)
{
	my @frames = frames($path);
	my @rests = grep { $_->[3] =~ /^\[\d+ narrow frames\]$/ } @frames;
	my ($merged, $all) = slurp_file($path) =~ /; (\d+) narrow frames of (\d+) are merged/;

	cmp_ok(scalar(@frames), '<=', 5000, 'the picture is bounded');
	cmp_ok(@frames - @rests, '>=', 2500, 'and worth looking at');
	is(@frames - @rests + $merged, $all, 'it says how many frames it merged');
	my $sum = 0;
	$sum += $_ for map { $_->[3] =~ /(\d+) narrow/ } @rests;
	is($sum, $merged, 'and where');
}
my @frames = frames($even);
my $leaves = 0;
for my $i (0 .. $#frames)
{
	next if $i < $#frames && $frames[ $i + 1 ][2] > $frames[$i][2];
	$leaves += $frames[$i][1] - $frames[$i][0];
}
is($leaves, 15000, 'nothing is left out');

# What stands for a stack is of no binary.
write_dump('1.3.manual.heap', 1, [], site('0x1'));
my $startup = slurp_file(save('startup', "'1.3.manual.heap'"));
like($startup, qr/<title>\[no stack\]/, 'a site without a stack');
unlike($startup, qr{width="12"[^>]*/><text[^>]*>\[no stack\]<}, 'is of no binary');

# Names that a dump has with it may be odd.
my $named = slurp_file($node->data_dir . "/pg_leakhunt/$symbolized");
sub write_odd
{
	my ($name, $text) = @_;

	open my $out, '>:raw', $node->data_dir . "/pg_leakhunt/$name" or die $!;
	print $out state_size($text);
	close $out;
	return $name;
}
write_odd('1.7.manual.heap', $named =~ s/ function=leak/ function=hide/gr);
is( $node->safe_psql('postgres',
		"SELECT sum(older_bytes) > 1000000, count(*) FILTER (WHERE older_bytes <> newer_bytes) FROM pg_leakhunt_diff('$symbolized', '1.7.manual.heap')"
	),
	't|0',
	'sites are the same, however their functions are called');
write_odd('1.4.manual.heap', $named =~ s/^(# symbol .*) file=\S+/$1/gmr);
unlike(slurp_file(save('odd', "'1.4.manual.heap'")),
	qr/null/, 'a line without a file');
write_odd('1.5.manual.heap', $named =~ s/^(# symbol .*) inlined=\d/$1 inlined=1/gmr);

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
cmp_ok(scalar(split /\n/, $addresses), '>', 20, 'addresses in pprof');
is(pprof_addresses('1.5.manual.heap'),
	$addresses, 'whatever a dump says is inlined');

# Millions of frames take some room in the file, and not much more here.
my $stack = join ' ', map { sprintf '0x%x', 16 + $_ % 7 } 1 .. 120;
write_dump('1.6.manual.heap', 5000, [], (site($stack)) x 5000);
for my $call ('pprof', 'folded', 'flamegraph')
{
	my ($kilobytes) = $node->safe_psql('postgres',
		"SELECT length(pg_leakhunt_$call('1.6.manual.heap')) > 0; SELECT pg_read_file('/proc/self/status')"
	) =~ /^VmHWM:\s+(\d+) kB/m;

	cmp_ok($kilobytes, '<', 150 * 1024, "$call: memory");
}

$node->stop;
done_testing();
