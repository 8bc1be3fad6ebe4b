# What else looks at running functions in PL/pgSQL: a checker, a profiler and a debugger,
# which sit in PL/pgSQL's slot for plugins.  Each must do its work, and the routines and
# lines of what leaks must be right beside it, whichever is loaded first.  Needs packages
# that make test does not.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# test/coexistence installs each package; a case without its library is skipped.
#
# setup		SQL that is run once
# start		SQL that the session runs before its work
# works		SQL that is true after it; without it, a debugger is used
my @cases = (
	{
		name => 'plpgsql_check',
		package => 'postgresql-VERSION-plpgsql-check',
		library => 'plpgsql_check',
		conf => "plpgsql_check.mode = 'every_start'\n",
		setup => 'CREATE EXTENSION plpgsql_check',
		start => 'SET plpgsql_check.profiler = on; SET plpgsql_check.enable_tracer = on; SET plpgsql_check.tracer = on',
		works => q{SELECT sum(exec_stmts) > 10 FROM plpgsql_profiler_function_tb('looping()')},
	},
	{
		name => 'plprofiler',
		package => 'postgresql-VERSION-plprofiler',
		library => 'plprofiler',
		setup => 'CREATE EXTENSION plprofiler',
		start => 'SELECT pl_profiler_set_enabled_local(true)',
		works => 'SELECT count(*) > 10 FROM pl_profiler_linestats_local()',
	},
	{
		name => 'pldebugger',
		package => 'postgresql-VERSION-pldebugger',
		library => 'plugin_debugger',
		setup => 'CREATE EXTENSION pldbgapi',
	});

# Functions that leak, each at a line and of a size of its own.
my $functions = <<'SQL';
CREATE TABLE orders (i int);
CREATE FUNCTION leaks(n int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM leak_top(n, 1);        -- 3
END $f$;
CREATE FUNCTION nested() RETURNS void LANGUAGE plpgsql AS $f$
BEGIN

	PERFORM leaks(1001);           -- 4
END $f$;
CREATE FUNCTION catching() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
	zero int := 0;
BEGIN
	PERFORM 1 / zero;
EXCEPTION WHEN division_by_zero THEN
	EXECUTE 'SELECT leak_top(1002, 1)';    -- 7
END $f$;
CREATE FUNCTION looping() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT generate_series(1, 30) LOOP
		PERFORM leak_top(1003, 1);     -- 6
	END LOOP;
END $f$;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM leak_top(1004, 1);     -- 3
	RETURN NEW;
END $f$;
CREATE TRIGGER audit BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION change();
SQL
my @work = ('SELECT nested()', 'SELECT catching()', 'SELECT looping()', 'INSERT INTO orders VALUES (1)',
	"DO 'BEGIN PERFORM leak_top(1005, 1); END'");

# The routines that leaked, by the bytes of a leak.
sub check_routines
{
	my ($node, $pid, $what) = @_;
	my %routines = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('postgres', qq{
		SELECT live_bytes / live_count, coalesce(routine, 'none') FROM pg_leakhunt_report($pid)
			WHERE function_of(site) = 'leaking_top' ORDER BY 1});

	is_deeply(\%routines, {
		1001 => 'leaks(integer) line 3',
		1002 => 'catching() line 7',
		1003 => 'looping() line 6',
		1004 => 'trigger audit on orders: change() line 3',
		1005 => 'DO block line 1'
	}, "$what: each leak has its routine and line");
}

# A debugger stops the session in a function, and lets it go on.
sub debug
{
	my ($node, $session, $pid) = @_;
	my $debugger = $node->background_psql('postgres', on_error_stop => 0);
	my $debugger_pid = session_pid($debugger);
	my $listener = $debugger->query_safe('SELECT pldbg_create_listener()');

	$debugger->query_safe("SELECT pldbg_set_global_breakpoint($listener, 'looping'::regproc, NULL, NULL)");
	$session->query_until(qr//, "SELECT looping();\n");
	is($debugger->query_safe("SELECT pldbg_wait_for_target($listener)"), $pid, 'pldebugger: the debugger stops the session');
	$debugger->query_safe("SELECT pldbg_step_over($listener)") for 1 .. 4;
	is($debugger->query_safe("SELECT linenumber FROM pldbg_get_stack($listener)"), 6, 'pldebugger: the debugger steps through the function');
	is($node->safe_psql('postgres', "SELECT DISTINCT routine FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'leaking_top' AND live_bytes / live_count = 1003"),
		'looping() line 6', 'pldebugger: the routine is right while the session is stopped in it');

	# to the end of the function; then the debugger waits for the session to stop again
	$debugger->query_until(qr//, "SELECT pldbg_continue($listener);\n");
	is($session->query("SELECT 'goes on'"), "\ngoes on", 'pldebugger: the session goes on');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($debugger_pid)");
	$debugger->quit;
}

for my $case (@cases)
{
	my $node = new_server($case->{name}, "pg_leakhunt.sample_interval = 1\n" . ($case->{conf} // ''));

  SKIP:
	{
		skip "$case->{name} is not installed", 1
			if !-e $node->config_data('--pkglibdir') . "/$case->{library}.so";

		$node->safe_psql('postgres', $functions);
		for my $preloaded ("$case->{library}, pg_leakhunt", "pg_leakhunt, $case->{library}")
		{
			$node->append_conf('postgresql.conf', "shared_preload_libraries = '$preloaded'");
			$node->restart;
			if ($case->{setup})
			{
				$node->safe_psql('postgres', $case->{setup});
				delete $case->{setup};
			}
			my $session = $node->background_psql('postgres', on_error_stop => 0);
			my $pid = session_pid($session);

			$session->query($case->{start}) if $case->{start};
			$session->query($_) for @work;
			check_routines($node, $pid, $preloaded);
			if ($case->{works})
			{
				like($session->query($case->{works}), qr/^t$/m, "$preloaded: it does its work");
			}
			else
			{
				debug($node, $session, $pid);
			}
			$session->quit;
		}
		unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, "$case->{name}: no process died");
	}
	$node->stop;
}

done_testing();
