# Profiles and dumps of other layouts than this version's: the one before is read, as a
# profile that a crash has left and as a dump, and any other is refused.  The files of
# test/layouts were left by a session that had leaked 30,000 objects of 64 bytes, at an
# interval of 16 kB, a part of them after a baseline.  Needs files in the place of profiles
# before a server starts.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# The fields of a header that lie where they always were.
my %at = (layout_version => 8, pg_version => 12, pid => 16, system_identifier => 48, label => 56, used_bytes => 384);
my $pid = 22381;

# What the session's report said then.
my $sites = <<'REPORT';
1920960|30015|TopMemoryContext|session|117
86120|92|CacheMemoryContext|session|5
66816|144|CacheMemoryContext|session|4
49680|172|index info|session|3
41960|1|WAL record construction|session|1
40992|1|TopMemoryContext|session|1
33408|58|CacheMemoryContext|session|2
32817|915|index info|session|2
31232|2|TopMemoryContext|session|1
17920|7|CacheMemoryContext|session|1
16848|27|MessageContext|statement|1
16530|87|CacheMemoryContext|session|1
16530|87|CacheMemoryContext|session|1
16520|118|CacheMemoryContext|session|1
16432|79|index info|session|1
16384|16|ExecutorState|query|1
16384|16|RowDescriptionContext|statement|1
16384|2|TopMemoryContext|session|1
16380|117|CacheMemoryContext|session|1
REPORT
my $growth = 1395520;

# The bytes of a file of test/layouts.
sub stored
{
	my ($name) = @_;
	my $bytes;

	gunzip("$FindBin::RealBin/../layouts/$name.gz" => \$bytes) or die $GunzipError;
	return $bytes;
}

# Set a field of a profile.
sub set_field
{
	my ($profile, $name, $bytes) = @_;

	substr($$profile, $at{$name}, length $bytes) = $bytes;
}

my $profile = stored('7.profile');
my $baseline = stored('7.baseline');
my $used_bytes = unpack 'L', substr($profile, $at{used_bytes}, 4);
is(unpack('L', substr($profile, $at{layout_version}, 4)), 7, 'the stored profile has layout 7');
cmp_ok($used_bytes, '<', length $profile, 'the stored profile has room at its end');

my $node = new_server('main', "pg_leakhunt.keeper_interval = 200ms\npg_leakhunt.dump_min_bytes = 1MB\n");
my $dumps = $node->data_dir . '/pg_leakhunt';

# What is read of it, in the order of the report.
sub check_rows
{
	my ($what, $from) = @_;
	my $columns = 'live_bytes, live_count, context_name, lifetime, samples';

	is( ask($node, "SELECT $columns FROM $from WHERE live_bytes > 0 ORDER BY live_bytes DESC, live_count DESC") . "\n",
		join('', map { "$_\n" } sort { ($b =~ /^(\d+)/)[0] <=> ($a =~ /^(\d+)/)[0] || ($b =~ /\|(\d+)/)[0] <=> ($a =~ /\|(\d+)/)[0] } split /\n/, $sites),
		"$what has all sites");
	is(ask($node, "SELECT string_agg(DISTINCT growth_bytes::text, ' ' ORDER BY growth_bytes::text DESC) FROM $from WHERE live_bytes = 1920960"),
		$growth, "$what has the growth of the leak");
	is(ask($node, "SELECT count(*) FROM $from WHERE live_bytes > 0 AND total_bytes >= live_bytes AND array_length(stack, 1) > 2"),
		19, "$what has a stack for each site");
	is(ask($node, "SELECT query FROM $from WHERE live_bytes = 1920960"),
		'SELECT leak_top(64, 10000);', "$what has the statement of the leak");
}

# (ii) A dump of its bytes.
my $dumped = substr($profile, 0, $used_bytes);
set_field(\$dumped, 'label', pack('Z96', 'client backend'));
mkdir $dumps;
my $made = "$pid.1.manual.profile";
write_bytes("$dumps/$made", with_parts($dumped, 'manual', [ 1, $baseline ]));
check_rows('a dump of layout 7', "pg_leakhunt_read_dump('$made')");
is(ask($node, "SELECT backend_type, reason, live_bytes > 2400000, live_count > 30000 FROM pg_leakhunt_dumps WHERE file = '$made'"),
	'client backend|manual|t|t', 'a dump of layout 7 is listed');
is(ask($node, "SELECT count(*) FILTER (WHERE growth_bytes <> 0) FROM pg_leakhunt_diff('$made', '$made')"), 0, 'a dump of layout 7 is compared');
is( ask($node, "SELECT length(pg_leakhunt_flamegraph('$made')) > 10000, length(pg_leakhunt_pprof('$made')) > 1000, pg_leakhunt_folded('$made') LIKE '% 1920960' || chr(10) || '%'"),
	't|t|t',
	'a dump of layout 7 is drawn');
my $heap = ask($node, "SELECT pg_leakhunt_heap('$made')");
like($heap, qr/^30015: 1920960 \[30015: 1920960\] @ 0x/m, 'the text of a dump of layout 7 has the leak');
write_bytes("$dumps/$pid.2.manual.profile", with_parts($dumped, 'manual'));
is(ask($node, "SELECT count(*) FILTER (WHERE live_bytes > 0), count(growth_bytes) FROM pg_leakhunt_read_dump('$pid.2.manual.profile')"),
	'19|0', 'a dump of layout 7 without its baseline has no growth');

# Any byte may be wrong, as of other layouts.
srand(7);
my $calls = '';
for my $mutant (1 .. 60)
{
	my $bytes = $dumped;

	substr($bytes, 4 * int(rand(length($bytes) / 4)), 4) = pack('L', (0, 1, 24, 1 << 31, 0xFFFFFFFF)[ rand 5 ]) for 1 .. 1 + rand 20;
	set_field(\$bytes, 'layout_version', pack('L', 7 + $mutant % 2));
	write_bytes("$dumps/$mutant.9.manual.profile", with_parts($bytes, 'manual', [ 1, $baseline ]));
	$calls .= "SELECT count(*) FROM pg_leakhunt_read_dump('$mutant.9.manual.profile'); SELECT length(pg_leakhunt_pprof('$mutant.9.manual.profile'));\n";
}
my ($result, $stdout, $stderr) = $node->psql('postgres', "$calls SELECT 'alive'", on_error_stop => 0);
like($stdout, qr/^alive$/m, 'damaged dumps of layout 7 take no session down');
unlink glob("$dumps/*.9.manual.*");

# A layout that is not known.
for my $layout (6, 9)
{
	my $other = $dumped;

	set_field(\$other, 'layout_version', pack('L', $layout));
	write_bytes("$dumps/1.1.manual.profile", with_parts($other, 'manual'));
	($result, $stdout, $stderr) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_read_dump('1.1.manual.profile')");
	is( $stderr =~ s/^psql:<stdin>:1: |\nCONTEXT.*//gr,
		qq{ERROR:  dump file "pg_leakhunt/1.1.manual.profile" has layout $layout
DETAIL:  This version of pg_leakhunt reads layouts 7 to 8.
HINT:  The text beside it, for jeprof and pprof, does not depend on the layout.},
		"layout $layout is refused with an ERROR that names both layouts");
}
unlink "$dumps/1.1.manual.profile";

# (i) A profile that a crash has left to this version.
my $directory = profile_directory($node);
my ($identifier) = run_tool('pg_controldata', $node->data_dir) =~ /system identifier:\s+(\d+)/;
my $version = ask($node, "SELECT current_setting('server_version_num')");
set_field(\$profile, 'system_identifier', pack('Q', $identifier));
set_field(\$profile, 'pg_version', pack('L', $version));
$node->stop;
mkdir $directory, 0700 if !-d $directory;
for my $file ([ $pid, $profile ], [ "baseline.$pid", $baseline ])
{
	write_bytes("$directory/$file->[0]", $file->[1]);
	chmod 0600, "$directory/$file->[0]" or die $!;
}
$node->start;
my $crash;
wait_until(
	sub { ($crash) = map { s{.*/}{}r } glob("$dumps/$pid.*.crash.profile"); $crash },
	'the keeper makes a dump of a profile of layout 7') or diag(slurp_file($node->logfile));
check_rows('a profile of layout 7', "pg_leakhunt_read_dump('$crash')");
is(unpack('L', substr(slurp_file("$dumps/$crash"), $at{layout_version}, 4)), 8, 'the dump of a profile of layout 7 has the layout of this version');
is( ask($node,
		"SELECT count(*) FROM pg_leakhunt_diff('$made', '$crash') WHERE older_bytes IS DISTINCT FROM newer_bytes OR older_count IS DISTINCT FROM newer_count"
	),
	0,
	'the dump of a profile of layout 7 equals the dump of layout 7');
is( ask($node, "SELECT state FROM pg_leakhunt_processes WHERE pid = $pid"),
	'crashed', 'a profile of layout 7 is in the views');
check_rows('the crashed process', "pg_leakhunt_report($pid)");
like(slurp_file(dump_text("$dumps/$crash")), qr/^30015: 1920960 \[30015: 1920960\] @ 0x/m, 'the dump of a profile of layout 7 has a text');

# A session that has loaded the version before, as the library was replaced later.
my $session = $node->background_psql('postgres');
my $session_pid = session_pid($session);
my $former = $profile;
set_field(\$former, 'pid', pack('l', $session_pid));
write_bytes("$directory/$session_pid.new", $former);
chmod 0600, "$directory/$session_pid.new" or die $!;
rename("$directory/$session_pid.new", "$directory/$session_pid") or die $!;
($result, $stdout, $stderr) = $node->psql('postgres', "SELECT pg_leakhunt_stop($session_pid)");
like($stderr, qr/WARNING:  process $session_pid may not notice the request\n.*another version of pg_leakhunt/,
	'a request to a session with the version before is made with a WARNING');
unlink "$directory/$session_pid";
$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|signal (6|11)/, 'no process has crashed by itself');
done_testing();
