# doc/look.html in a real browser: of each sample it says what pg_leakhunt_look says, word by word.
# Needs files, and Chromium to open them.  test/page-axe runs it with AXE, the script of a checker.
use strict;
use warnings;

use Cwd ();
use Encode qw(decode);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Browser;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no Chromium' unless Browser->is_there;

my $program = PostgreSQL::Test::Cluster->new('none')->config_data('--bindir') . '/pg_leakhunt_look';
my $root = Cwd::abs_path("$FindBin::RealBin/../..");
my $directory = PostgreSQL::Test::Utils::tempdir;
my $browser = Browser->start($directory, "$root/test/perl/look_probe.js");
my @samples = grep { !m{(\.right|/check|/README)$} } sort glob "$root/test/logs/*";

$browser->open("$root/doc/look.html");

# What the program says of files.
sub said
{
	my (@arguments) = @_;
	my $said = '';

	IPC::Run::run([ $program, '--log', @arguments ], '>', \$said) or die "$program failed";
	return decode('UTF-8', $said) =~ s/\n\z//r;
}

# What the page says, once it has read.
sub shown
{
	my $shown;

	for (1 .. 20 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return $shown if $shown = $browser->result('shown');
		select(undef, undef, undef, 0.05);
	}
	die 'The page says nothing but ' . $browser->result('news');
}

sub shown_of_file
{
	my ($path) = @_;

	$browser->result('forget');
	$browser->choose_file('#files', $path);
	return shown();
}

# Click on an element, which may have to be scrolled to.
sub click
{
	my ($id) = @_;

	$browser->value("document.getElementById('$id').scrollIntoView()");
	$browser->click("document.getElementById('$id')");
}

sub write_file
{
	my ($name, $text) = @_;
	my $path = "$directory/$name";

	open my $out, '>:raw', $path or die $!;
	print $out $text;
	close $out or die $!;
	return $path;
}

cmp_ok(scalar(@samples), '>', 25, 'there are samples');
my ($title) = $browser->value('document.title');
for my $sample (@samples)
{
	my $name = $sample =~ s{.*/}{}r;
	my $said = said($sample);
	my $shown = shown_of_file($sample);

	is($shown->{text}, $said, "$name: it says what the program says");
	is_deeply($shown->{paragraphs}, [ grep { length } split /\n/, $said ], "$name: and shows all of it");
	is($shown->{markup}, 0, "$name: none of it is markup") if $name eq 'hostile.log';
}
is($browser->value('document.title'), $title, 'no name has run as a script');

# Without literals, at once for what was explained before.
my $messages = "$root/test/logs/messages.log";
shown_of_file($messages);
$browser->result('forget');
click('redact');
is(shown()->{text}, said('--redact', $messages), 'without literals of statements');
$browser->result('forget');
click('redact');
is(shown()->{text}, said($messages), 'and with them again');

# A text that is typed or pasted, and one that is dropped.
my $text = slurp_file("$root/test/logs/13-prepared.log");
$browser->result('forget');
$browser->result('enter', $text);
click('explain');
is(shown()->{text}, said("$root/test/logs/13-prepared.log"), 'a text that is entered');
my $other = slurp_file("$root/test/logs/15-hash.log");
$browser->result('forget');
$browser->result('drop', $other);
is(shown()->{text}, said("$root/test/logs/15-hash.log"), 'a text that is dropped');

# A large log, a text that says nothing, bytes that are no text, and lines without an end.
my $large = write_file('large.log', ("2026-11-29 12:00:00.000 UTC [4711] LOG:  checkpoint complete\n" x 500_000) . $text);
is(shown_of_file($large)->{text}, said($large), 'a log of 30 MB');
for my $case ([ 'empty', '' ], [ 'zeros', "\0" x 300_000 ], [ 'bytes', join('', map { chr($_ % 256) } 1 .. 700_000) ],
	[ 'line', 'TopMemoryContext: ' x 100_000 ])
{
	my $path = write_file(@$case);

	is(shown_of_file($path)->{text}, said($path), "a file of $case->[0]");
}

# The pages that the program makes: the same words, and contexts as areas and rows.
for my $name ('13-prepared.log', '15-logged.csv', 'grown.log', 'hostile.log', 'messages.log')
{
	my $sample = "$root/test/logs/$name";
	my $html = '';

	IPC::Run::run([ $program, '--log', '--format', 'html', $sample ], '>', \$html) or die "$program failed";
	$browser->open(write_file("$name.html", $html));
	my $page = $browser->result('shownPage');
	is_deeply($page->{words}, [ grep { length } split /\n/, said($sample) ], "$name as a page: it has all words");
	is($page->{title}, 'pg_leakhunt: What a log says of memory', "$name as a page: nothing in it has run");
	next if $name eq 'messages.log';
	cmp_ok(scalar(@{ $page->{contexts}[0] }), '>', 0, "$name as a page: it has rows of contexts");
	cmp_ok($page->{areas}[0], '>', 0, "$name as a page: and areas");
	next unless $name eq '13-prepared.log';
	like(join('|', @{ $page->{contexts}[0][0] }), qr/^(CachedPlan\w*|\d+ more)\|/, "$name as a page: the largest is the first");
	is_deeply([ $browser->faults($ENV{AXE}) ], [], 'axe finds nothing in it') if $ENV{AXE};
}
$browser->open("$root/doc/look.html");

# On a phone, and for everybody.
for my $width (360, 1200)
{
	$browser->emulate($width, $width == 360);
	cmp_ok(shown_of_file("$root/test/logs/hostile.log")->{width}, '<=', $width, "$width px: nothing is cut off");
	is_deeply([ $browser->faults($ENV{AXE}) ], [], "$width px: axe finds nothing") if $ENV{AXE};
}

is_deeply([ $browser->console ], [], 'no script has failed, and nothing was asked of a network');
$browser->stop;
done_testing;
