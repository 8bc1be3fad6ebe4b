# Servers that pg_leakhunt_malloc.so is preloaded into, by themselves: what they start
# must not inherit it, and what starts them must hand it on.  Needs servers that are
# started with an environment of their own, by pg_ctl and by Debian's pg_ctlcluster.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $name = 'pg_leakhunt_malloc.so';
chomp(my $libraries = `$ENV{PG_CONFIG} --pkglibdir`);
my $library = "$libraries/$name";

# Another one that is preloaded, which the dynamic linker finds by itself.
my $foreign = 'libm.so.6';

ok(-f $library, 'the library is installed');

# Whether a process has the library; undef if it is gone.
sub has_library
{
	my ($pid) = @_;
	my $maps = eval { slurp_file("/proc/$pid/maps") } or return undef;

	return scalar($maps =~ m{/\Q$name\E$}m);
}

# Run code with LD_PRELOAD set so.
sub preloading
{
	my ($list, $code) = @_;

	local $ENV{LD_PRELOAD} = $list;
	return $code->();
}

sub postmaster_pid
{
	my ($node) = @_;

	return (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
}

# The line that doc/malloc.md has for what a server is started by, with the library of
# this server.
sub documented_line
{
	my ($started_by) = @_;
	my ($line) = slurp_file("$FindBin::RealBin/../../doc/malloc.md") =~ /^\| \Q$started_by\E.*? \| `([^`]*)`/m
	  or die "there is no line for $started_by";

	return $line =~ s{/usr/lib/postgresql/15/lib}{$libraries}r;
}

# All processes of a server have the library, or none has.
sub check_processes
{
	my ($node, $expected, $test) = @_;
	my @pids = (postmaster_pid($node),
		split /\n/, $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()'));
	my $session = $node->background_psql('postgres');

	push @pids, $session->query_safe('SELECT pg_backend_pid()');
	my @found = grep { defined } map { has_library($_) } @pids;
	is(scalar(grep { $_ } @found), $expected ? @found : 0, $test);
	$session->quit;
}

# What a program gets that the server starts.
my $ask_program = <<'SQL';
	CREATE TEMPORARY TABLE lines (line text);
	COPY lines FROM PROGRAM 'env | grep ^LD_PRELOAD; grep -c pg_leakhunt_malloc /proc/self/maps; true';
	SELECT string_agg(line, ' ') FROM lines;
SQL

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
wal_level = replica
archive_mode = on
archive_command = 'env >%p.env'
restart_after_crash = on
});
preloading($library, sub { $node->start });
check_processes($node, 1, 'all processes of a server have the library');
is($node->safe_psql('postgres', $ask_program), '0', 'COPY starts programs without the library');
is( $node->safe_psql('postgres',
		'SELECT count(*) FROM (SELECT repeat(g::text, 100), random() FROM generate_series(1, 100000) g ORDER BY 2) s'),
	100000, 'a server with the library sorts');

# archive_command is a program that the server starts, too.
$node->safe_psql('postgres', 'CREATE TABLE t (); SELECT pg_switch_wal()');
$node->poll_query_until('postgres', 'SELECT archived_count > 0 FROM pg_stat_archiver');
my ($environment) = glob($node->data_dir . '/pg_wal/*.env');
unlike(slurp_file($environment), qr/LD_PRELOAD/, 'archive_command starts without the library');

# After a crash all processes are new ones, but for the postmaster.
my $session = $node->background_psql('postgres', on_error_stop => 0);
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
wait_until(sub { slurp_file($node->logfile) =~ /reinitializing/ }, 'the server crashes');
wait_for_server($node);
check_processes($node, 1, 'the new processes after a crash have the library');
eval { $session->quit };

preloading($library, sub { $node->restart });
check_processes($node, 1, 'pg_ctl restart hands the library on');
$node->restart;
check_processes($node, 0, 'pg_ctl restart hands on that there is no library');

for my $list ("$library:$foreign", "$foreign $library")
{
	preloading($list, sub { $node->restart });
	check_processes($node, 1, "all processes have the library with LD_PRELOAD=$list");
	is($node->safe_psql('postgres', $ask_program), "LD_PRELOAD=$foreign 0", "programs of COPY have what is not ours of LD_PRELOAD=$list");
}

# What a unit of systemd, a container and a shell are told is what the server gets.
my %form = (
	'a systemd unit' => qr/^Environment=LD_PRELOAD=(\S+)$/,
	'a container' => qr/^ENV LD_PRELOAD=(\S+)$/,
	'you' => qr/^LD_PRELOAD=(\S+) pg_ctl restart /);
for my $started_by (sort keys %form)
{
	my ($list) = documented_line($started_by) =~ $form{$started_by};

	is($list, $library, "the documented line for $started_by has the library");
	preloading($list // '', sub { $node->restart });
	check_processes($node, 1, "all processes have the library with the line for $started_by");
}

# What systemd says of a unit with that line.
sub systemd_says
{
	my ($line) = @_;
	my $unit = PostgreSQL::Test::Utils::tempdir() . '/server.service';

	append_to_file($unit, "[Service]\nExecStart=/bin/true\n$line\n");
	IPC::Run::run([ 'systemd-analyze', 'verify', '--man=no', '--recursive-errors=no', $unit ], '>', \my $said, '2>&1');
	return $said;
}

SKIP:
{
	skip 'systemd does not judge units here', 2 if !-x '/usr/bin/systemd-analyze' || systemd_says('') ne '';
	is(systemd_says(documented_line('a systemd unit')), '', 'systemd finds nothing wrong in its documented line');
	like(systemd_says('Environment=LD_PRELOAD /none'), qr/Invalid environment assignment/, 'systemd tells what is wrong in another line');
}

# A library that has gone is no reason not to start.
my $gone = "$libraries/none/$name";
preloading($gone, sub { $node->restart });
check_processes($node, 0, 'a server whose library is gone starts');
like(slurp_file($node->logfile), qr/\Q$gone\E.* cannot be preloaded/, 'the dynamic linker tells that the library is gone');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:/, 'no process has crashed but the one that was killed');

# Debian's pg_ctlcluster starts its own servers with the environment that a file has.
SKIP:
{
	my $version = $node->pg_version->major;
	my $folder = PostgreSQL::Test::Utils::tempdir();

	skip "there is no pg_ctlcluster for a server of Debian's with version $version", 4
	  unless -x "/usr/lib/postgresql/$version/bin/postgres" && -x '/usr/bin/pg_ctlcluster' && -x '/usr/bin/pg_createcluster';
	local %ENV = (%ENV, PG_CLUSTER_CONF_ROOT => "$folder/etc");
	my $socket = PostgreSQL::Test::Utils::tempdir_short();
	my @debian = ($version, 'preloaded');
	my @psql = ('psql', '-X', '-A', '-t', '-q', '-h', $socket, '-p', $node->port, '-d', 'postgres', '-c');

	mkdir "$folder/etc";
	command_ok(
		[ 'pg_createcluster', '-d', "$folder/data", '-s', $socket, '-l', "$folder/log",
			'-p', $node->port, '--start-conf', 'manual', @debian, '--', '-A', 'trust' ],
		'pg_createcluster makes a cluster');
	append_to_file("$folder/etc/$version/preloaded/environment", documented_line("Debian's `pg_ctlcluster`") . "\n");
	command_ok([ 'pg_ctlcluster', @debian, 'start' ], 'pg_ctlcluster starts the cluster');
	my ($pid) = split /\n/, slurp_file("$folder/data/postmaster.pid");
	ok(has_library($pid), 'the cluster has the library by its file of environment');
	IPC::Run::run([ @psql, $ask_program ], '>', \my $answer);
	is($answer, "0\n", 'COPY in the cluster starts programs without the library');
	system_log('pg_ctlcluster', @debian, 'stop', '-m', 'immediate');
}

done_testing();
