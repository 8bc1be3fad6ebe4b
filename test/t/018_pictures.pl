# Flame graphs in a real browser: looked at, clicked, searched and walked
# through by keys.  Needs Chromium, and files that it can open.
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

my $browser = Browser->start($directory);
my $frame =
  q{[...document.querySelectorAll('svg.frame')].find(f => f.querySelector('title').textContent.startsWith('%s'))};
my $top = sprintf($frame, 'leaking_top');

# As a part of the window's width.
sub part
{
	my ($element) = @_;

	return $browser->value(
		"($element).querySelector('rect').getBoundingClientRect().width / document.documentElement.getBoundingClientRect().width"
	);
}

my $live = save('live', "$pid, context => true");
my ($percent) = $node->safe_psql('postgres',
	"SELECT cum_percent / 100 FROM pg_leakhunt_top($pid) WHERE name = 'leaking_top'");
for my $width (1280, 800)
{
	$browser->resize($width, 900);
	$browser->open($live);
	is($browser->value("document.querySelectorAll('parsererror').length"),
		0, "$width px: well-formed");
	cmp_ok(abs(part($top) - $percent), '<', 0.01, 'the leak is as wide as it should be');
	is( $browser->value("($top).querySelector('text').textContent"),
		'leaking_top', 'its name');
	ok( $browser->value(
			"(function (text, box) { return text.left >= box.left && text.right <= box.right && text.height >= 11 })(($top).querySelector('text').getBoundingClientRect(), ($top).querySelector('rect').getBoundingClientRect())"
		),
		'is readable');
	is( $browser->value(
			"[...document.querySelectorAll('svg.frame')].filter(f => f.querySelector('rect').getBoundingClientRect().right > innerWidth + 1).length"
		),
		0,
		'all within the window');
	$browser->screenshot("$directory/live$width.png");
}
$browser->resize(1280, 900);
$browser->open($live);
my $tooltip = $browser->value("($top).querySelector('title').textContent");
like(
	$tooltip,
	qr/^leaking_top \(leaker\.c:\d+\)\n1953\.1 kB in 20000 objects, \d+\.\d\d%\nleaker\.so$/,
	'tooltip');
like($browser->value('document.documentElement.textContent'),
	qr/client backend $pid: \d.*live/, 'title');

# names are text, whatever they are
is($browser->value("document.querySelectorAll('script').length"),
	1, 'no script but ours');
ok( $browser->value(
		sprintf('!!(%s)', sprintf($frame, $hostile =~ s/'/\\'/gr))),
	'a hostile name is shown as it is');
ok($browser->value('!!' . sprintf($frame, "\\u4e2d\\ufffd")),
	'so is one with characters that XML has not');

# zoom by click, and back
my $cache = sprintf($frame, 'CacheMemoryContext');
cmp_ok(part($cache), '<', 0.5, 'a context is a first level');
$browser->click($cache);
cmp_ok(part($cache), '>', 0.99, 'a click zooms');
is($browser->value("getComputedStyle($top).display"),
	'none', 'what is elsewhere goes');
$browser->screenshot("$directory/zoomed.png");
$browser->click("document.getElementById('reset')");
cmp_ok(abs(part($top) - $percent), '<', 0.01, 'reset');

# search
$browser->click("document.getElementById('search')");
$browser->type('LEAKING_TOP');
like(
	$browser->value("document.getElementById('matched').textContent"),
	qr/^Matched: @{[sprintf('%.1f', 100 * $percent)]}%$/,
	'search tells the part that matches');
ok($browser->value("($top).classList.contains('match')"), 'and marks it');
is( $browser->value("document.querySelectorAll('.match').length"),
	1, 'and nothing else');
$browser->screenshot("$directory/searched.png");
$browser->type($escape);
is($browser->value("document.querySelectorAll('.match').length"),
	0, 'Esc ends the search');

# keys
my $focused = "document.activeElement.querySelector('title').textContent.split('\\n')[0]";
is($browser->value($focused), 'all', 'the root has the focus');
$browser->type($down);
is($browser->value($focused), 'TopMemoryContext', 'down');
$browser->type($right);
isnt($browser->value($focused), 'TopMemoryContext', 'right');
$browser->type($left);
$browser->type($enter);
cmp_ok(part(sprintf($frame, 'TopMemoryContext')), '>', 0.99, 'Enter zooms');
$browser->type($up);
is($browser->value($focused), 'all', 'up');
$browser->type($escape);
cmp_ok(abs(part($top) - $percent), '<', 0.01, 'Esc goes back');
$browser->type('/');
is($browser->value('document.activeElement.id'), 'search', '/ searches');

# growth
$session->query_safe(
	"SELECT hold_chunk(3000000); SELECT pg_leakhunt_baseline($pid); SELECT release_chunk(); SELECT leak_top(100, 50000)"
);
$browser->open(save('growth', "$pid, growth => true"));
my $colour = q{getComputedStyle((%s).querySelector('rect')).fill.match(/\d+/g).map(Number)};
my $grown = $browser->value(sprintf($colour, $top));
cmp_ok($grown->[0], '>', $grown->[2] + 100, 'what grew is red');
my $shrunk = $browser->value(sprintf($colour, sprintf($frame, 'hold_chunk')));
cmp_ok($shrunk->[2], '>', $shrunk->[0] + 100, 'what shrank is blue');
like($browser->value("($top).querySelector('title').textContent"),
	qr/\n\+4882\.8 kB in 50000 objects/, 'by how much');
$browser->screenshot("$directory/growth.png");

# nothing at all
$browser->open(save('none', "$pid, growth => true"))
  if $node->safe_psql('postgres', "SELECT pg_leakhunt_baseline($pid)");
is($browser->value("document.querySelectorAll('svg.frame').length"),
	1, 'a picture of nothing');
$browser->stop;
my $dump = $node->safe_psql('postgres',
	"SELECT pg_read_file('pg_leakhunt/' || pg_leakhunt_dump($pid))");
my ($header) = $dump =~ /\n(# pg_leakhunt.*)\n# sites=/s;
$session->quit;

# A profile of 100,000 frames: 2,500 stacks of 40, of functions in no binary.
srand(1);
my ($text, $sites) = ('', 2500);
for my $site (1 .. $sites)
{
	my $address = 0;
	my @stack = map { $address = ($address * 7 + int(rand(3)) + $_) % 4001; sprintf('0x%x', 4096 + $address) } 1 .. 40;

	$text .= "# context=c lifetime=session live_count=1 total_count=1 samples=1 total_samples=1 error_bytes=0 variance=0 peak_bytes=0 first_at_us=1 last_at_us=1 truncated=0\n1: 100 [1: 100] @ @stack\n";
}
open my $out, '>', $node->data_dir . '/pg_leakhunt/1.1.manual.heap' or die $!;
print $out
  "heap profile: $sites: ${\($sites * 100)} [$sites: ${\($sites * 100)}] @ heapprofile\n$header\n# sites=$sites modules=0\n$text\nMAPPED_LIBRARIES:\n";
close $out;
my $picture = save('large', "'1.1.manual.heap'");
cmp_ok(-s $picture, '<', 2_000_000,
	'a large profile makes no large picture');
like(
	slurp_file($picture),
	qr/\d+ frames narrower than [\d.e-]+% are merged/,
	'and the picture says what it left out');

$node->stop;
done_testing();
