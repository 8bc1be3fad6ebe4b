# Servers that can't load the module: their logs say what doc/troubleshooting.md has.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($section) = slurp_file("$FindBin::RealBin/../../doc/troubleshooting.md") =~ /^## It does not start\n(.*?)^## /ms;
my @messages = $section =~ /^\| (`.*?) \|/mg;
my $node = PostgreSQL::Test::Cluster->new('main');
my $pkglibdir = $node->config_data('--pkglibdir');
my ($major) = $node->config_data('--version') =~ /(\d+)/;
my $module = slurp_file("$pkglibdir/pg_leakhunt.so");

# A copy of the module in which a text is another one.
sub changed_module
{
	my ($name, $from, $to) = @_;
	my $bytes = $module;
	my $path = $node->basedir . "/$name.so";

	is($bytes =~ s/\Q$from\E/$to/g, 1, "$name: the module can be changed");
	open my $file, '>:raw', $path or die "$path: $!";
	print $file $bytes;
	close $file or die $!;
	return $path;
}

# The version of the server and three limits lie together in what PG_MODULE_MAGIC makes.
my $limits = pack('l3', 100, 32, 64);
my @libraries = (
	'none/pg_leakhunt',
	changed_module('other_version', pack('l', $major * 100) . $limits, pack('l', ($major + 1) * 100) . $limits),
	changed_module('without_libunwind', 'libunwind.so.8', 'libunwind.so.0'));

$node->init;
is(scalar @messages, scalar @libraries, 'each line of the document has a case');
for my $library (@libraries)
{
	my @parts = shift(@messages) =~ /`(.*?)`/g;
	my $log_at = -s $node->logfile // 0;

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$library'");
	is($node->start(fail_ok => 1), 0, "$library: the server does not start");
	my $log = substr(slurp_file($node->logfile), $log_at);
	$log =~ s/none\/(?=pg_leakhunt)//;
	$log =~ s/libunwind\.so\.0/libunwind.so.8/;
	like($log, qr/\Q$_\E/, "the log has: $_") for @parts;
}
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'without the module the server starts');

# As does one that has it, whose databases do not all have the extension.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'");
$node->restart;
my ($missing) = slurp_file("$FindBin::RealBin/../../doc/troubleshooting.md") =~ /^\| `(relation .*?)` \|/m;
my ($status, $stdout, $stderr) = $node->psql('postgres', 'SELECT * FROM pg_leakhunt_suspects');
like($stderr, qr/\Q$missing\E/, 'a database without the extension');
($status, $stdout, $stderr) = $node->psql('postgres',
	'CREATE SCHEMA leakhunt; CREATE EXTENSION pg_leakhunt SCHEMA leakhunt; SELECT * FROM pg_leakhunt_suspects');
like($stderr, qr/\Q$missing\E/, 'a database with the extension in a schema of its own');
like($node->safe_psql('postgres', '\dx pg_leakhunt'), qr/\|leakhunt\|/, 'the schema is shown');
$node->stop;
done_testing();
