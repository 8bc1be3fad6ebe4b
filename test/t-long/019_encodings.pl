# Names and statements that are not valid in their database's encoding, or that
# have no counterpart in UTF-8, which pictures and profiles are made of.  Needs
# databases of other encodings.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=SQL_ASCII', '--locale=C' ]);
pg_leakhunt.enabled = off
CONF

# What a session of that database shows of itself, after it has leaked to a
# context of that name (an expression) in a statement with that comment.
sub pictures_of
{
	my ($database, $name, $comment) = @_;
	my ($result, $stdout, $stderr) = $node->psql(
		$database, qq{
		SELECT pg_leakhunt_start(pg_backend_pid(), 1);
		SELECT leak_named_context($name, 100) /* $comment */;
		SELECT 'picture: ' || pg_leakhunt_flamegraph(pg_backend_pid(), context => true, query => true);
		SELECT 'page: ' || substring(pg_leakhunt_page(pg_backend_pid()) from '"names":.*');
		SELECT 'profile: ' || encode(pg_leakhunt_pprof(pg_backend_pid()), 'hex');
		SELECT 'file: ' || pg_leakhunt_dump(pg_backend_pid())});
	my ($profile) = $stdout =~ /^profile: ([0-9a-f]+)$/m;
	my ($file) = $stdout =~ /^file: (\S+)$/m;

	is($stderr, '', "$database: no error");
	return ($stdout, pack('H*', $profile // ''), $file);
}

# A database that does not know what its texts are: what is UTF-8 shows as such.
my ($picture, $profile, $file) =
  pictures_of('postgres', "E'sharp \\xc3\\xa4\\xe4\\xff name'",
	"\xc3\xa4 \xe4 in a comment");
like($picture, qr/sharp &#xE4;\?\? name/, 'what is UTF-8 of a name is so in a flame graph');
like($picture, qr/&#xE4; \? in a comment/, 'what is UTF-8 of a statement is so in a flame graph');
like($picture, qr/"sharp \\u00e4\?\? name"/, 'what is UTF-8 of a name is so in a page');
like($profile, qr/sharp \xc3\xa4\?\? name/, 'what is UTF-8 of a name is so in a profile');
is($node->psql('postgres', "SELECT length(pg_leakhunt_flamegraph('$file', context => true, query => true)) + length(pg_leakhunt_pprof('$file'))"),
	0, 'a dump with texts of no encoding makes a flame graph and a profile');

# Databases of single bytes some of which are no character, and of an encoding
# from which there is no way to UTF-8, which went with 19.
my $version = int($node->pg_version =~ s/^(\d+).*/$1/r);
my @encodings = ('WIN1252', $version < 19 ? 'MULE_INTERNAL' : ());
for my $encoding (@encodings)
{
	$node->safe_psql('postgres',
		"CREATE DATABASE \L$encoding\E ENCODING '$encoding' LOCALE 'C' TEMPLATE template0"
	);
	$node->safe_psql(
		lc $encoding, qq{
		CREATE EXTENSION pg_leakhunt;
		CREATE FUNCTION leak_named_context(name text, bytes int) RETURNS void
			AS '$ENV{LEAKER}.so' LANGUAGE C STRICT});
}
($picture, $profile) =
  pictures_of('win1252', "E'sharp \\xe4 name'", "\x93quoted\x94");
like($picture, qr/sharp &#xE4; name/, 'a name that can be converted is so in a flame graph');
like($picture, qr/&#x201C;quoted&#x201D;/, 'a statement that can be converted is so in a flame graph');
like($profile, qr/sharp \xc3\xa4 name/, 'a name that can be converted is so in a profile');
($picture, $profile, $file) =
  pictures_of('win1252', "E'no \\x81 name'", "\x81 in a comment");
like($picture, qr/no \? name/, 'what cannot be converted of a name is "?" in a flame graph');
like($picture, qr/\? in a comment/, 'what cannot be converted of a statement is "?" in a flame graph');
like($profile, qr/no \? name/, 'what cannot be converted of a name is "?" in a profile');
if ($version < 19)
{
	($picture, $profile, $file) = pictures_of('mule_internal',
		"E'far \\x81\\xe4 name'", "\x81\xe4 in a comment");
	like($picture, qr/far \?\? name/,
		'a name in an encoding without conversion has "?" in a flame graph');
	like($picture, qr/\?\? in a comment/, 'a statement in an encoding without conversion has "?" in a flame graph');
	like($profile, qr/far \?\? name/, 'a name in an encoding without conversion has "?" in a profile');
}

# A dump is as it was written, whatever the encoding of the one who asks.
for my $database ('postgres', map { lc } @encodings)
{
	is( $node->safe_psql($database,
			"SELECT encode(_pg_leakhunt_dump_file('$file'), 'hex')"),
		unpack('H*', slurp_file($node->data_dir . "/pg_leakhunt/$file")),
		"$database: a dump has the bytes of its file");
}

# All processes together, whose databases have several encodings.
my @sessions;
for my $database ('postgres', map { lc } @encodings)
{
	my $session = $node->background_psql($database);

	push @sessions, $session;
	$session->query_safe(
		q{SELECT pg_leakhunt_start(pg_backend_pid(), 1); SELECT leak_named_context(E'shared \\xe4 name', 100) /* same */});
}
my $shared = $node->safe_psql('postgres',
	q{SELECT pg_leakhunt_flamegraph('all', context => true, query => true)});
like($shared, qr/${\scalar @sessions} processes: /, 'a flame graph has the processes of databases of several encodings');
like($shared, qr/<title>shared \? name&#10;/, 'names of other encodings fit that of this database');
$_->quit for @sessions;

# The name of a function in a dump is shown in the database's encoding, too, whatever it is.
my $dumps = $node->data_dir . '/pg_leakhunt';
write_dump(
	"$dumps/1.1.manual.profile",
	modules => ["/li\x81A.so"],
	names => [ [ frame(1, 16), "na\x81A", "fi\x81A.c", 7, 0 ] ],
	sites => [ { stack => [ frame(1, 16) ] }, { stack => [ frame(1, 32) ] } ]);
for my $database (map { lc } @encodings)
{
	my ($result, $stdout, $stderr) = $node->psql($database,
		"SELECT site FROM pg_leakhunt_report('1.1.manual.profile') ORDER BY site COLLATE \"C\"");

	my $odd = $database eq 'win1252' ? "\x81" : '?';

	is( "$stdout$stderr",
		"li${odd}A.so+0x20 [file removed]\nna${odd}A (fi${odd}A.c:7)",
		"$database: odd names in a dump are shown as far as the encoding has them");
}
$node->stop;
done_testing();
