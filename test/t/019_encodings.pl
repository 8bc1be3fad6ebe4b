# Names and statements that are not valid in their database's encoding, or that
# have no counterpart in UTF-8, which pictures and profiles are made of.  Needs
# databases of other encodings.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
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
like($picture, qr/sharp &#xE4;\?\? name/, 'a name that is partly UTF-8');
like($picture, qr/&#xE4; \? in a comment/, 'such a statement');
like($profile, qr/sharp \xc3\xa4\?\? name/, 'such a name in a profile');
is($node->psql('postgres', "SELECT length(pg_leakhunt_flamegraph('$file', context => true, query => true)) + length(pg_leakhunt_pprof('$file'))"),
	0, 'a dump of it');

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
like($picture, qr/sharp &#xE4; name/, 'a name that can be converted');
like($picture, qr/&#x201C;quoted&#x201D;/, 'such a statement');
like($profile, qr/sharp \xc3\xa4 name/, 'such a name in a profile');
($picture, $profile, $file) =
  pictures_of('win1252', "E'no \\x81 name'", "\x81 in a comment");
like($picture, qr/no \? name/, 'a name that can not');
like($picture, qr/\? in a comment/, 'such a statement');
like($profile, qr/no \? name/, 'such a name in a profile');
if ($version < 19)
{
	($picture, $profile, $file) = pictures_of('mule_internal',
		"E'far \\x81\\xe4 name'", "\x81\xe4 in a comment");
	like($picture, qr/far \?\? name/,
		'a name in an encoding without conversion');
	like($picture, qr/\?\? in a comment/, 'such a statement');
	like($profile, qr/far \?\? name/, 'such a name in a profile');
}

# A dump is as it was written, whatever the encoding of the one who asks.
for my $database ('postgres', map { lc } @encodings)
{
	is( $node->safe_psql($database,
			"SELECT encode(pg_leakhunt_dump_file('$file'), 'hex')"),
		unpack('H*', slurp_file($node->data_dir . "/pg_leakhunt/$file")),
		"$database: the bytes of a dump");
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
	'SELECT pg_leakhunt_flamegraph_all(context => true, query => true)');
like($shared, qr/${\scalar @sessions} processes: /, 'databases of several encodings');
like($shared, qr/<title>shared \? name&#10;/, 'whose names fit this one');
$_->quit for @sessions;

# What a damaged dump says is shown in the database's encoding, too.
my $directory = $node->data_dir . '/pg_leakhunt';
my $text = slurp_file("$directory/$file");
$text =~ s/ lifetime=session/ lifetime=\x81A/;
open my $out, '>:raw', "$directory/1.1.manual.heap" or die $!;
print $out $text;
close $out;
for my $database (map { lc } @encodings)
{
	my ($result, $stdout, $stderr) = $node->psql($database,
		"SELECT count(*) FROM pg_leakhunt_read_dump('1.1.manual.heap')");
	my $shown = $database eq 'win1252' ? '\x81A' : '\?A';

	like($stderr, qr/There is no lifetime "$shown"/, "$database: damaged dump");
}
$node->stop;
done_testing();
