# Other extensions in the same server: each must work as it does without us, and
# our figures must be exact beside it, whichever of the two is loaded first.  Needs
# servers with other libraries preloaded, and packages that make test does not.
#
# Those that share something with us come first to mind: hooks (the start of shared
# memory, messages, statements, ends of transactions), processes of their own, forks,
# foreign code that brings its own memory and exceptions along.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# test/coexistence installs each package, with the server's version for VERSION, where
# there is one; a case without its library is skipped.
#
# libraries	what is preloaded, unless it has the name of the case
# restart	that the server must start once more with what was set up
# setup		SQL that is run once, before the first of the two orders
# work		SQL that must end in the line "result"; then another session's "later"
#			must become true, and the log match "log"
# leak		SQL that keeps memory for the session, at least "chunks" of it, which a
#			function of the library has asked for
# balance	SQL that frees what it takes
# noise		complaints in the log that it has without us
my @cases = (
	{
		name => 'pg_stat_statements',
		setup => 'CREATE EXTENSION pg_stat_statements',
		work => q{SELECT 1 AS one; SELECT calls > 0 FROM pg_stat_statements WHERE query = 'SELECT $1 AS one'},
		result => 't',
	},
	{
		name => 'auto_explain',
		conf => "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on\n"
		  . "auto_explain.log_nested_statements = on\nauto_explain.log_buffers = on",
		work => 'SELECT 17 AS explained',
		result => '17',
		log => qr/Query Text: SELECT 17 AS explained/,
	},
	{
		name => 'pg_prewarm',
		setup => 'CREATE EXTENSION pg_prewarm',
		work => q{SELECT pg_prewarm('pg_class') > 0 AND autoprewarm_dump_now() > 0},
		result => 't',
	},
	{
		name => 'pg_stat_kcache',
		package => 'postgresql-VERSION-pg-stat-kcache',
		libraries => 'pg_stat_statements, pg_stat_kcache',
		setup => 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements; CREATE EXTENSION pg_stat_kcache',
		work => q{SELECT count(*) > 0 FROM pg_stat_kcache},
		result => 't',
	},
	{
		name => 'pg_qualstats',
		package => 'postgresql-VERSION-pg-qualstats',
		conf => 'pg_qualstats.sample_rate = 1',
		setup => 'CREATE EXTENSION pg_qualstats; CREATE TABLE qualified AS SELECT generate_series(1, 100) AS g',
		work => q{SELECT count(*) FROM qualified WHERE g < 7; SELECT count(*) > 0 FROM pg_qualstats},
		result => 't',
	},
	{
		name => 'pg_wait_sampling',
		package => 'postgresql-VERSION-pg-wait-sampling',
		setup => 'CREATE EXTENSION pg_wait_sampling',
		work => q{SELECT count(*) > 0 FROM pg_wait_sampling_current},
		result => 't',
		later => 'SELECT count(*) > 0 FROM pg_wait_sampling_history',
	},
	{
		name => 'pgaudit',
		package => 'postgresql-VERSION-pgaudit',
		conf => "pgaudit.log = 'all'",
		setup => 'CREATE EXTENSION pgaudit',
		work => 'SELECT 18 AS audited',
		result => '18',
		log => qr/AUDIT: .*SELECT 18 AS audited/,
	},
	{
		name => 'pgauditlogtofile',
		package => 'postgresql-VERSION-pgauditlogtofile',
		libraries => 'pgaudit, pgauditlogtofile',
		conf => "pgaudit.log = 'all'\npgaudit.log_directory = 'audit'\npgaudit.log_filename = 'log'",
		work => 'SELECT 19 AS audited',
		result => '19',
		later => q{SELECT pg_read_file('audit/log') ~ 'SELECT 19 AS audited'},
	},
	{
		name => 'pg_cron',
		package => 'postgresql-VERSION-cron',
		conf => "cron.database_name = 'beside_pg_cron'\ncron.use_background_workers = on\nmax_worker_processes = 20",
		setup => q{CREATE EXTENSION pg_cron; CREATE TABLE started(at timestamptz);
			SELECT cron.schedule('at start', '@reboot', 'INSERT INTO public.started SELECT now()')},
		restart => 1,
		work => q{SELECT count(*) FROM cron.job},
		result => '1',
		later => 'SELECT count(*) > 0 FROM started WHERE at > pg_postmaster_start_time()',
	},
	{
		name => 'pg_hint_plan',
		package => 'postgresql-VERSION-pg-hint-plan',
		setup => q{CREATE EXTENSION pg_hint_plan; CREATE TABLE hinted AS SELECT generate_series(1, 10000) AS g;
			CREATE INDEX ON hinted (g); ANALYZE hinted},
		work => q{/*+ SeqScan(hinted) */ EXPLAIN (COSTS off) SELECT * FROM hinted WHERE g = 17},
		result => ' *Filter: \(g = 17\)',
	},
	{
		name => 'pg_partman',
		package => 'postgresql-VERSION-partman',
		libraries => 'pg_partman_bgw',
		conf => "pg_partman_bgw.interval = 1\npg_partman_bgw.dbname = 'beside_pg_partman_bgw'\n"
		  . "pg_partman_bgw.role = '" . getpwuid($<) . "'\nmax_worker_processes = 20",
		setup => q{CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman;
			CREATE TABLE public.parted(at timestamptz NOT NULL) PARTITION BY RANGE (at);
			DO $$ BEGIN
				IF (SELECT extversion ~ '^4' FROM pg_extension WHERE extname = 'pg_partman') THEN
					PERFORM partman.create_parent('public.parted', 'at', 'native', 'daily');
				ELSE
					PERFORM partman.create_parent('public.parted', 'at', '1 day');
				END IF;
			END $$},
		work => q{INSERT INTO parted VALUES (now()); UPDATE partman.part_config SET premake = premake + 1;
			SELECT count(*) > 3 FROM pg_inherits WHERE inhparent = 'parted'::regclass},
		result => 't',
		# the process of 5.2 fails on 17.12 without us, too
		noise => qr/cannot drop portal "<unnamed portal 1>" while it is being set up/,
		# it makes partitions for four days before now, and for premake days after it
		later => q{SELECT count(*) >= 5 + (SELECT premake FROM partman.part_config) FROM pg_inherits WHERE inhparent = 'parted'::regclass},
	},
	{
		name => 'pglogical',
		package => 'postgresql-VERSION-pglogical',
		conf => "wal_level = logical\nmax_worker_processes = 20",
		setup => q{CREATE EXTENSION pglogical;
			SELECT pglogical.create_node('here', 'dbname=beside_pglogical')},
		work => q{SELECT node_name FROM pglogical.pglogical_node_info()},
		result => 'here',
		later => q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type ~ 'pglogical' OR application_name ~ 'pglogical'},
	},
	{
		name => 'powa',
		package => 'postgresql-VERSION-powa',
		libraries => 'pg_stat_statements, powa',
		# its process would take snapshots at the same moment
		conf => 'powa.frequency = -1',
		database => 'powa',
		setup => 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements; CREATE EXTENSION btree_gist; CREATE EXTENSION powa',
		restart => 1,
		work => 'SELECT powa_take_snapshot()',
		result => '0',
		later => q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type ~ 'powa' OR application_name ~* 'powa'},
	},
	{
		name => 'hypopg',
		package => 'postgresql-VERSION-hypopg',
		setup => 'CREATE EXTENSION hypopg; CREATE TABLE indexed AS SELECT generate_series(1, 10000) AS g',
		work => q{SELECT count(*) FROM hypopg_create_index('CREATE INDEX ON indexed (g)');
			EXPLAIN (COSTS off) SELECT * FROM indexed WHERE g = 1;
			SELECT count(*) FROM hypopg()},
		result => '\d+',
		leak => q{SELECT count(*) FROM generate_series(1, 100) AS n,
			LATERAL hypopg_create_index('CREATE INDEX ON indexed ((g + ' || n || '))')},
		chunks => 100,
	},
	{
		name => 'plpgsql_check',
		package => 'postgresql-VERSION-plpgsql-check',
		libraries => 'plpgsql, plpgsql_check',
		conf => "plpgsql_check.profiler = on",
		setup => q{CREATE EXTENSION plpgsql_check;
			CREATE FUNCTION unsound() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT a FROM absent); END $$},
		work => q{SELECT count(*) > 0 FROM plpgsql_check_function('unsound()') AS line WHERE line ~ 'absent'},
		result => 't',
	},
	{
		name => 'plprofiler',
		package => 'postgresql-VERSION-plprofiler',
		libraries => 'plprofiler',
		setup => q{CREATE EXTENSION plprofiler;
			CREATE FUNCTION profiled() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$},
		work => q{SELECT pl_profiler_set_enabled_local(true); SELECT profiled();
			SELECT count(*) > 0 FROM pl_profiler_linestats_local()},
		result => 't',
	},
	{
		name => 'plugin_debugger',
		package => 'postgresql-VERSION-pldebugger',
		setup => q{CREATE EXTENSION pldbgapi;
			CREATE FUNCTION debugged() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 20; END $$},
		work => q{SELECT debugged()},
		result => '20',
	},
	{
		name => 'set_user',
		package => 'postgresql-VERSION-set-user',
		setup => q{CREATE EXTENSION set_user; CREATE ROLE other},
		work => q{SELECT set_user('other'); SELECT reset_user()},
		result => 'OK',
	},
	{
		name => 'plperl',
		package => 'postgresql-plperl-VERSION',
		setup => q{CREATE EXTENSION plperlu;
			CREATE FUNCTION perl_sum(a int, b int) RETURNS int LANGUAGE plperlu AS
				$$ my $row = spi_exec_query("SELECT $_[0] + $_[1] AS s"); return $row->{rows}[0]{s} $$;
			CREATE FUNCTION perl_plans(times int, freed bool) RETURNS int LANGUAGE plperlu AS
				$$ for my $i (1 .. $_[0]) { my $plan = spi_prepare('SELECT $1', 'int'); spi_freeplan($plan) if $_[1] eq 't' } return $_[0] $$},
		work => 'SELECT perl_sum(20, 1)',
		result => '21',
		leak => 'SELECT perl_plans(100, false)',
		chunks => 100,
		warm => 'SELECT perl_plans(3, true)',
		balance => 'SELECT perl_plans(100, true)',
	},
	{
		name => 'plpython3',
		package => 'postgresql-plpython3-VERSION',
		setup => q{CREATE EXTENSION plpython3u;
			CREATE FUNCTION python_sum(a int, b int) RETURNS int LANGUAGE plpython3u AS
				$$ return plpy.execute("SELECT %d + %d AS s" % (a, b))[0]["s"] $$;
			CREATE FUNCTION python_plans(times int, freed bool) RETURNS int LANGUAGE plpython3u AS $$
for i in range(times):
    plan = plpy.prepare("SELECT $1", ["int"])
    if not freed:
        GD.setdefault("plans", []).append(plan)
return times $$;
			CREATE FUNCTION python_fork() RETURNS int LANGUAGE plpython3u AS $$
import os, subprocess, threading
threads = [threading.Thread(target=lambda: subprocess.run(["true"])) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
if child == 0:
    os._exit(7)
return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) $$;
			CREATE FUNCTION python_error(x int) RETURNS int LANGUAGE plpython3u AS $$
try:
    with plpy.subtransaction():
        plpy.execute("SELECT 1 / 0")
except plpy.SPIError:
    return x $$},
		work => 'SELECT python_sum(20, 2) + python_fork() + python_error(1)',
		result => '30',
		leak => 'SELECT python_plans(100, false)',
		chunks => 100,
		warm => 'SELECT python_plans(3, true)',
		balance => 'SELECT python_plans(100, true)',
	},
	{
		name => 'pltcl',
		package => 'postgresql-pltcl-VERSION',
		setup => q{CREATE EXTENSION pltclu;
			CREATE FUNCTION tcl_sum(int, int) RETURNS int LANGUAGE pltclu AS
				$$ spi_exec "SELECT $1 + $2 AS s"; exec true; return $s $$;
			CREATE FUNCTION tcl_plans(int) RETURNS int LANGUAGE pltclu AS
				$$ for {set i 0} {$i < $1} {incr i} { spi_prepare {SELECT $1} {int4} }; return $1 $$},
		work => 'SELECT tcl_sum(20, 3)',
		result => '23',
		leak => 'SELECT tcl_plans(100)',
		chunks => 100,
	},
	{
		name => 'pllua',
		package => 'postgresql-VERSION-pllua',
		setup => q{CREATE EXTENSION pllua;
			CREATE FUNCTION lua_sum(a int, b int) RETURNS int LANGUAGE pllua AS
				$$ local ok = pcall(function() spi.execute('SELECT 1 / 0') end) return a + b $$},
		work => 'SELECT lua_sum(20, 4)',
		result => '24',
	},
	{
		name => 'plsh',
		package => 'postgresql-VERSION-plsh',
		setup => qq{CREATE EXTENSION plsh;
			CREATE FUNCTION shell_sum(int, int) RETURNS text LANGUAGE plsh AS '\n#!/bin/sh\nexpr \$1 + \$2\n'},
		work => 'SELECT shell_sum(20, 5)',
		result => '25',
	},
	{
		name => 'postgis-3',
		package => 'postgresql-VERSION-postgis-3',
		setup => q{CREATE EXTENSION postgis;
			CREATE TABLE shapes AS SELECT ST_Buffer(ST_Point(g % 10, g / 10), 1.5, 32) AS shape FROM generate_series(1, 100) g;
			CREATE INDEX ON shapes USING gist (shape)},
		work => q{DO $$ BEGIN PERFORM ST_Intersection('POLYGON((0 0, 1 1, 0 1, 1 0, 0 0))', ST_MakeEnvelope(0, 0, 2, 2));
				EXCEPTION WHEN internal_error THEN NULL; END $$;
			SELECT ST_IsValid(ST_Union(shape)) FROM shapes;
			SELECT count(*) > 0 FROM shapes a, shapes b WHERE ST_Intersects(a.shape, b.shape);
			SELECT round(ST_Distance('POINT(0 0)'::geometry, 'POINT(3 4)'))},
		result => '5',
		leak => q{SELECT ST_AsText(ST_Transform(ST_SetSRID(ST_Point(10, 50), 4326), 32632)) IS NOT NULL},
		chunks => 1,
		warm => q{SELECT count(*) FROM shapes a, shapes b WHERE ST_Intersects(a.shape, b.shape)},
		balance => q{SELECT count(*) AS again FROM shapes a, shapes b WHERE ST_Intersects(a.shape, b.shape)},
	},
	{
		name => 'vector',
		package => 'postgresql-VERSION-pgvector',
		setup => q{CREATE EXTENSION vector;
			CREATE TABLE points AS SELECT ARRAY[random(), random(), random()]::vector(3) AS p FROM generate_series(1, 1000);
			CREATE INDEX ON points USING hnsw (p vector_l2_ops)},
		work => q{SELECT count(*) FROM (SELECT FROM points ORDER BY p <-> '[0,0,0]' LIMIT 5) nearest;
			SELECT '[0,0]'::vector <-> '[3,4]'},
		result => '5',
	},
	{
		name => 'timescaledb',
		package => 'postgresql-VERSION-timescaledb',
		conf => "timescaledb.telemetry_level = off\nmax_worker_processes = 20",
		setup => q{CREATE EXTENSION timescaledb; CREATE TABLE measured(at timestamptz NOT NULL, value float8);
			SELECT create_hypertable('measured', 'at');
			INSERT INTO measured SELECT now() - g * interval '1 day', g FROM generate_series(1, 100) g},
		work => q{SELECT count(*) FROM measured},
		result => '100',
		# Debian's lacks what its own process asks it for at the start
		noise => qr/not supported under the current "apache" license/,
	},
	{
		name => 'wal2json',
		package => 'postgresql-VERSION-wal2json',
		conf => 'wal_level = logical',
		known_conf => { output_plugin_libraries => 'pgoutput, test_decoding, wal2json' },
		setup => q{CREATE TABLE decoded(g int PRIMARY KEY)},
		work => q{SELECT count(*) FROM pg_create_logical_replication_slot('decoded', 'wal2json', true);
			INSERT INTO decoded SELECT coalesce(max(g), 0) + 1 FROM decoded;
			SELECT data ~ '"decoded"' FROM pg_logical_slot_get_changes('decoded', NULL, NULL);
			SELECT pg_drop_replication_slot('decoded') IS NOT NULL},
		result => 't',
	},
	{
		name => 'postgres_fdw',
		setup => q{CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink; CREATE TABLE far AS SELECT 26 AS g;
			CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'beside_postgres_fdw', host '@host@', port '@port@');
			CREATE USER MAPPING FOR CURRENT_USER SERVER here;
			CREATE FOREIGN TABLE near(g int) SERVER here OPTIONS (table_name 'far')},
		work => q{SELECT count(*) FROM near, dblink('dbname=beside_postgres_fdw host=@host@ port=@port@', 'SELECT 1') AS t(one int);
			SELECT g FROM near},
		result => '26',
	},
	{
		name => 'sslinfo and pgcrypto',
		libraries => 'pgcrypto, sslinfo, uuid-ossp, pgxml, bloom, unaccent, pg_trgm, hstore',
		setup => 'CREATE EXTENSION pgcrypto; CREATE EXTENSION xml2; CREATE EXTENSION "uuid-ossp"',
		work => q{SELECT length(pgp_sym_encrypt('secret', 'key')) > 10;
			SELECT xpath_string('<a><b>27</b></a>', '/a/b')},
		result => '27',
	},);

# CASES="postgis-3 pg_cron" runs only these.
if ($ENV{CASES})
{
	my %wanted = map { $_ => 1 } split ' ', $ENV{CASES};

	@cases = grep { $wanted{ $_->{name} } } @cases;
}

my $pkglibdir = `$ENV{PG_CONFIG} --pkglibdir`;
chomp $pkglibdir;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf(
	'postgresql.conf', qq{
pg_leakhunt.sample_interval = 1
pg_leakhunt.max_profile_size = 32MB
include_if_exists = 'case.conf'
});

# The libraries of a case, as a list.
sub libraries_of
{
	my ($case) = @_;

	return split /, */, $case->{libraries} // $case->{name};
}

# What has been written to the log since the last call.
my $log_read = 0;
sub new_log
{
	my $log = -e $node->logfile ? slurp_file($node->logfile, $log_read) : '';

	$log_read += length $log;
	return $log;
}

# Start the server with these libraries, in this order, and settings.
sub start_with
{
	my ($conf, @libraries) = @_;

	unlink $node->data_dir . '/case.conf';
	append_to_file($node->data_dir . '/case.conf',
		"shared_preload_libraries = '" . join(', ', map { qq{"$_"} } @libraries) . "'\n"
		  . ($conf // '') . "\n");
	new_log();
	$node->start;
}

# SQL of a case, which may refer to the server itself.
sub sql_of
{
	my ($text) = @_;

	return $text =~ s/\@(host|port)\@/$node->$1/ger;
}

# Leave nothing in the log that says that something went wrong.
sub check_log
{
	my ($name, $noise) = @_;
	my $log = new_log();
	my @complaints = grep { /\b(WARNING|ERROR|PANIC|FATAL):|terminated by signal|server process/ }
	  grep { !/terminating .* due to administrator command|the database system is (starting|shutting)/ }
	  grep { !$noise || !/$noise/ }
	  split /\n/, $log;

	is(join("\n", @complaints), '', "$name: the log has no complaint");
	return $log;
}

# What the leak of a case has kept, and its balanced statement, through its library.
sub figures_of_case
{
	my ($case) = @_;
	my ($library) = reverse libraries_of($case);
	my $inside = "array_to_string(functions, ' ') ~ '$library'";
	my %figures;

	$figures{own_leak} =
	  qq{coalesce(sum(live_count) FILTER (WHERE $inside AND lifetime = 'session' AND starts_with(query, \$q\$$case->{leak}\$q\$)), 0)}
	  if $case->{leak};
	$figures{own_balance} =
	  qq{string_agg(live_bytes || ' bytes in ' || context_name || ' by ' || site, ', ') FILTER (WHERE $inside AND live_bytes > 0 AND starts_with(query, \$q\$$case->{balance}\$q\$))}
	  if $case->{balance};
	return %figures;
}

# The server works with the libraries of that case loaded in this order: so does the
# other extension, and so do we.
sub check_beside
{
	my ($case, $name) = @_;
	my $session = $node->background_psql($case->{database});
	my $pid = session_pid($session);
	my $work = sql_of($case->{work});

	# the leak goes on while the other extension is at work
	like($session->query_safe($work), qr/(^|\n)$case->{result}$/, "$name: the other extension works");
	for my $round (1 .. 2)
	{
		$session->query_safe('SELECT leak_top(64, 5000)');
		$session->query_safe('SELECT leak_generation(100, 300)');
		$session->query_safe('SELECT allocate_in_balance(100, 1000)');
		$session->query_safe($work);
	}
	$session->query_safe(sql_of($case->{$_})) for grep { $case->{$_} } qw(leak warm balance);

	my $found = report_figures($node, $pid,
		top => q{sum(live_bytes) FILTER (WHERE 'leaking_top' = ANY (functions))},
		top_count => q{sum(live_count) FILTER (WHERE 'leaking_top' = ANY (functions))},
		generation => q{sum(live_bytes) FILTER (WHERE 'leak_generation' = ANY (functions) AND context_name = 'leaker generation')},
		balanced => q{sum(live_bytes) FILTER (WHERE 'balanced' = ANY (functions))},
		errors => 'sum(error_bytes)',
		dropped => "(SELECT samples_dropped FROM pg_leakhunt_sampling WHERE pid = $pid)",
		figures_of_case($case));
	is("$found->{top_count} $found->{top}", '10000 640000', "$name: a leak is exact");
	is($found->{generation}, 60_000, "$name: a leak in a generation context is exact");
	is($found->{balanced}, 0, "$name: what is freed has no live bytes");
	is("$found->{errors} $found->{dropped}", '0 0', "$name: no sample is missing");
	cmp_ok($found->{own_leak}, '>=', $case->{chunks}, "$name: a leak of the other extension is found")
	  if $case->{leak};
	is($found->{own_balance}, '', "$name: what the other extension frees leaves no row")
	  if $case->{balance};
	ok($node->poll_query_until($case->{database}, $case->{later}), "$name: processes of the other extension work")
	  if $case->{later};
	$session->quit;
}

# Set a case up, in the first of its two orders.
sub set_up
{
	my ($case) = @_;

	return if !$case->{setup} || $case->{set_up}++;
	$node->safe_psql($case->{database}, sql_of($case->{setup}));
	$node->restart if $case->{restart};
}

# Each case has a database of its own, with the fixture's functions.
$node->start;
define_leakers($node);
for my $case (@cases)
{
	my ($library) = reverse libraries_of($case);
	my $known = $case->{known_conf} // {};

	for my $name (keys %$known)
	{
		$case->{conf} .= "\n$name = '$known->{$name}'"
		  if ask($node, "SELECT count(*) FROM pg_settings WHERE name = '$name'");
	}
	$case->{database} //= 'beside_' . $library =~ s/\W/_/gr;
	$node->safe_psql('template1', "CREATE DATABASE $case->{database} TEMPLATE postgres");
}
$node->stop;

for my $case (@cases)
{
	my @libraries = libraries_of($case);
	my @missing = grep { !-e "$pkglibdir/$_.so" } @libraries;

  SKIP:
	{
		skip "$case->{name} is not installed: no @missing", 1 if @missing;
		for my $order ([ 'pg_leakhunt', @libraries ], [ @libraries, 'pg_leakhunt' ])
		{
			my $name = "@$order";

			start_with($case->{conf}, @$order);
			set_up($case);
			check_beside($case, $name);
			$node->stop;
			my $log = check_log($name, $case->{noise});
			like($log, $case->{log}, "$name: the other extension writes to the log") if $case->{log};
		}
	}
}
done_testing();
