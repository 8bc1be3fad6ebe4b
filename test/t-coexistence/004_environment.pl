# Servers in other environments: compiled queries, other allocators, huge pages, few
# file descriptors, many connections.  Our figures must be exact in each.  Needs a
# server per environment.
use strict;
use warnings;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Only the one statement that is to be compiled is: it takes its time.
my ($jemalloc) = glob('/usr/lib/*/libjemalloc.so.2');

my $node = PostgreSQL::Test::Cluster->new('main');
my $malloc_library = $node->config_data('--pkglibdir') . '/pg_leakhunt_malloc.so';

# A copy of our library that has another number of its version.
sub other_version
{
	my $copy = PostgreSQL::Test::Utils::tempdir() . '/pg_leakhunt_malloc.so';
	my $text = slurp_file($malloc_library);
	my ($address) = run_tool('nm', '-D', $malloc_library) =~ /^([0-9a-f]+) D pg_leakhunt_malloc_hook$/m;
	my ($start, $offset) =
	  run_tool('readelf', '-SW', $malloc_library) =~ / \.data +PROGBITS +([0-9a-f]+) ([0-9a-f]+) /;

	substr($text, hex($address) - hex($start) + hex($offset), 4) = pack('L', 9999);
	append_to_file($copy, $text);
	chmod 0755, dirname($copy), $copy;
	return $copy;
}

# "shell" is run before the server is started in it, which may fail if "may_not_start";
# "conf" and "env" are for the
# server; "sql" must end in the line "result", in the session that leaks; "process" is
# a condition that the session's row of pg_leakhunt_processes fulfils; "more" has bytes
# that further functions of the fixture leak; "complaint" is what the log says.
my @environments = (
	{
		name => 'compiled queries',
		sql => q{
			SELECT CASE WHEN pg_jit_available() THEN 'compiled' ELSE 'there is no compiler' END;
			CREATE TEMPORARY TABLE numbers AS SELECT g, g::numeric / 7 AS n, repeat(g::text, 5) AS t FROM generate_series(1, 2000) g;
			SET jit = on;
			SET jit_above_cost = 0;
			SET jit_inline_above_cost = 0;
			SET jit_optimize_above_cost = 0;
			SELECT sum(leak_at_depth(g % 5, 10, 2)) > 0 AND count(leak_cache(10, 1)) > 0
				AND count(*) FILTER (WHERE n * 2 > 0 AND upper(t) <> lower(n::text || 'a')) = 2000 FROM numbers;
			SET jit = off},
		result => 't',
		more => {
			leak_at_depth => 40_000,
			leak_cache => 20_000
		},
	},
	{
		name => 'jemalloc',
		missing => !$jemalloc,
		env => { LD_PRELOAD => $jemalloc },
		process => 'malloc_bytes > context_bytes AND context_bytes > 0 AND rss_anon_bytes > 0',
	},
	{
		name => 'jemalloc before our library',
		missing => !$jemalloc,
		env => { LD_PRELOAD => ($jemalloc // '') . ':' . $malloc_library },
		process => 'NOT malloc_tracked AND context_bytes > 0',
		complaint => qr/WARNING:  pg_leakhunt does not sample malloc.*another allocator comes before it/s,
	},
	{
		name => 'our library of another version',
		env => { LD_PRELOAD => other_version() },
		process => 'NOT malloc_tracked AND malloc_bytes > 0',
		complaint => qr/WARNING:  pg_leakhunt does not sample malloc.*and pg_leakhunt have different versions/s,
	},
	{
		name => 'malloc with huge pages and filled memory',
		env => { GLIBC_TUNABLES => 'glibc.malloc.hugetlb=1', MALLOC_PERTURB_ => 165 },
		process => 'malloc_bytes > 0',
	},
	{
		name => 'huge pages',
		may_not_start => 1,
		conf => "huge_pages = on\nshared_buffers = 64MB",
	},
	{
		name => 'few file descriptors',
		shell => 'ulimit -n 100',
		conf => 'max_connections = 20',
		sql => q{SELECT count(*) > 300 FROM pg_class c, LATERAL pg_relation_size(c.oid)},
		result => 't',
	},
	{
		name => 'open umask',
		shell => 'umask 000',
		private => 1,
	},
	{
		name => 'many connections',
		conf => "max_connections = 1000\nfsync = on\nwal_level = logical",
		storm => 1,
	},
	{
		name => 'a shallow stack',
		conf => 'max_stack_depth = 100kB',
		sql => q{
			CREATE FUNCTION deeper(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN deeper(n + 1); END $$;
			DO $$ BEGIN PERFORM deeper(1); EXCEPTION WHEN statement_too_complex THEN NULL; END $$;
			SELECT 'caught'},
		result => 'caught',
	},
	{
		name => 'input and output by workers',
		from => 18,
		conf => 'io_method = worker',
		sql => q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'io worker'},
		result => 't',
	},
	{
		name => 'input and output by the kernel',
		from => 18,
		may_not_start => 1,
		conf => 'io_method = io_uring',
	},);

$node->init(allows_streaming => 'logical');
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.sample_interval = 1
include_if_exists = 'environment.conf'
});
$node->start;
define_leakers($node);
my $version = ask($node, 'SHOW server_version_num') / 10000;
$node->stop;

# Start the server in that environment; false if it does not start.
sub start_in
{
	my ($environment) = @_;
	my $shell = $environment->{shell} // 'true';
	my @start = ('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start');
	my $rc;

	unlink $node->data_dir . '/environment.conf';
	append_to_file($node->data_dir . '/environment.conf', ($environment->{conf} // '') . "\n");
	local %ENV = ($node->_get_env(), %{ $environment->{env} // {} });
	$rc = system('sh', '-c', "$shell; exec \"\$@\"", 'sh', @start);
	$node->_update_pid($rc == 0 ? 1 : 0);
	return $rc == 0;
}

# Connections come and go, many at a time, each with a profile of its own.
sub storm
{
	my ($name) = @_;
	my $directory = profile_directory($node);
	my $script = PostgreSQL::Test::Utils::tempdir() . '/storm.sql';

	append_to_file($script, "SELECT allocate_in_balance(100, 100);\n");
	for my $round (1 .. 2)
	{
		$node->command_ok(
			[ 'pgbench', '-n', '-C', '-c', 200, '-j', 4, '-t', 1, '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ],
			"$name: 200 connections at a time work");
	}
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'");
	wait_until(sub { !grep { /^\d/ && !-e "/proc/$_" } profile_files($directory) },
		"$name: no connection leaves a file");
}

# Nobody else may read what is ours.
sub check_private
{
	my ($name, $directory) = @_;
	my @open = grep { (stat)[2] & 077 } $directory, glob("$directory/*"),
	  $node->data_dir . '/pg_leakhunt', glob($node->data_dir . '/pg_leakhunt/*');

	is("@open", '', "$name: no file is open to others");
}

sub check_in
{
	my ($environment) = @_;
	my $name = $environment->{name};
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);
	my %leaks = (leak_top => 640_000, balanced => 0, %{ $environment->{more} // {} });

	$session->query_safe('SELECT leak_top(64, 5000)');
	like($session->query_safe($environment->{sql}), qr/(^|\n)$environment->{result}$/, "$name: the statements have their result")
	  if $environment->{sql};
	$session->query_safe('SELECT leak_top(64, 5000); SELECT allocate_in_balance(100, 1000)');
	is_deeply(
		report_figures($node, $pid,
			map { $_ => "sum(live_bytes) FILTER (WHERE '$_' = ANY (functions))" } keys %leaks),
		\%leaks, "$name: the figures of leaks are exact");
	is( ask($node, "SELECT samples_dropped = 0 AND (" . ($environment->{process} // 'true')
			. ") FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid"),
		't', "$name: the row of the process is as expected");
	$session->quit;
	storm($name) if $environment->{storm};
	$node->safe_psql('postgres', 'SELECT pg_leakhunt_dump(pg_backend_pid())');
	check_private($name, profile_directory($node)) if $environment->{private};
}

for my $environment (@environments)
{
	my $name = $environment->{name};
	my $log_size = -s $node->logfile;

  SKIP:
	{
		skip "$name: not on this machine", 1
		  if $environment->{missing} || $version < ($environment->{from} // 0);
		my $started = start_in($environment);
		skip "$name: not on this machine", 1
		  if !$started && $environment->{may_not_start};
		ok($started, "$name: the server starts") or next;
		check_in($environment);
		$node->stop;
		my $log = slurp_file($node->logfile, $log_size);
		ok($log =~ s/$environment->{complaint}//, "$name: the log has the complaint") if $environment->{complaint};
		unlike($log, qr/WARNING:|PANIC|terminated by signal/, "$name: the log has no other complaint");
	}
}
done_testing();
