# What the sessions of a year do, by the name of their application.
package YearWork;

use strict;
use warnings;

# The workload of the load test, each script in a session of its own.
my @scripts = qw(ddl subtransactions cursors copy parallel prepared notify freed);

# Each kind: how often it is drawn, whose sessions they are, and what they run.  Those that may be
# ended by others say so.
our %kinds = (
	(map { $_ => { share => 4, role => 'app', disturbed => 1, sql => "\\i $_.sql\n" } } @scripts),
	short => { share => 25, role => 'web', sql => "SELECT count(*) FROM pgbench_branches;\n" },
	catalog => { share => 4, role => 'web', sql => "\\d+ pg_class\nSELECT count(*), max(length(pg_get_viewdef(oid))) FROM pg_class WHERE relkind = 'v' AND relnamespace = 'pg_catalog'::regnamespace;\n" },
	pooled => { share => 2, role => 'web', disturbed => 1, sql => pooled() },
	idle => { share => 2, role => 'app', disturbed => 1, sql => "BEGIN;\nSELECT max(abalance) FROM pgbench_accounts;\n\\! sleep 8\nCOMMIT;\n" },
	waits => { share => 2, role => 'app', disturbed => 1, sql => "SELECT pg_sleep(6);\n" },
	plpgsql => { share => 4, role => 'app', sql => plpgsql() },
	errors => { share => 4, role => 'clumsy', sql => errors() },
	other => { share => 4, role => 'app', database => 'shop', sql => "CREATE TEMP TABLE t AS SELECT g FROM generate_series(1, 500) g;\nANALYZE t;\nSELECT pg_advisory_xact_lock(g) FROM t LIMIT 20;\n" },
	maintenance => { share => 1, role => 'dba', sql => "VACUUM ANALYZE pgbench_accounts;\nREINDEX TABLE pgbench_branches;\nCHECKPOINT;\n" },
	large => { share => 1, role => 'app', disturbed => 1, sql => "SET work_mem = '8MB';\nSELECT count(*) FROM (SELECT a.aid FROM pgbench_accounts a ORDER BY a.filler, a.aid DESC) s;\n" },
	mistaken => { share => 3, role => 'nobody_by_that_name', sql => "SELECT 1;\n" },
	astray => { share => 2, role => 'web', database => 'no_such_database', sql => "SELECT 1;\n" },
	locked => { share => 2, role => 'locked_out', sql => "SELECT 1;\n" },
	requester => { share => 2, role => 'dba', sql => requests() },
	worth => { share => 1, role => 'app', sql => "SELECT leak_slab(40000);\n" },
	bench => { share => 1, role => 'web', sessions => 10, run => [ qw(pgbench -n -C -c 2 -t 5 -S) ] },
	pool => { share => 1, role => 'web', sessions => 3, run => [ qw(pgbench -n -c 2 -T 15 -R 40 -M prepared) ] });

sub pooled
{
	my $round = <<'SQL';
EXECUTE balance(1 + (random() * 1000)::int);
SELECT count(*) FROM pgbench_tellers WHERE tbalance > 0;
\! sleep 1
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 1 + (random() * 50000)::int;
\! sleep 1
SQL
	return "PREPARE balance (int) AS SELECT abalance FROM pgbench_accounts WHERE aid = \$1;\n" . $round x 15;
}

sub plpgsql
{
	return <<'SQL';
DO $$
DECLARE
	total numeric := 0;
BEGIN
	FOR i IN 1 .. 300 LOOP
		BEGIN
			EXECUTE format('SELECT %s / %s', i, i % 3) INTO total;
		EXCEPTION WHEN division_by_zero THEN
			total := total + length(repeat('x', i));
		END;
	END LOOP;
END $$;
SQL
}

# A storm of errors, in and outside of transactions.
sub errors
{
	my $round = <<'SQL';
SELECT 1 / 0;
SELEKT 1;
SELECT * FROM no_such_table;
BEGIN;
INSERT INTO parents VALUES (1);
SELECT 1;
ROLLBACK;
SELECT repeat('x', 2000000000);
SQL
	return $round x 6;
}

# Requests to sessions, but to those with planted leaks.
sub requests
{
	return <<'SQL';
CREATE TEMP VIEW chosen AS
	SELECT pid FROM pg_stat_activity WHERE application_name IN ('pooled', 'idle', 'waits', 'pool', 'requester') ORDER BY random() LIMIT 2;
SELECT pg_leakhunt_start(pid, (ARRAY[1, 1000, 65536, NULL])[1 + floor(random() * 4)]) FROM chosen;
SELECT pg_sleep(0.5);
SELECT pg_leakhunt_stop(pid) FROM chosen;
SELECT pg_leakhunt_baseline(pid), pg_leakhunt_dump(pid) FROM chosen;
SELECT pg_leakhunt_trim(pid) FROM chosen;
SQL
}

# What is asked all the time, by a superuser and by a role that sees its own processes only; the last
# is not for everybody.
our @questions = (
	(map { "SELECT count(*) FROM pg_leakhunt_$_" }
		qw(processes sampling contexts suspects suppressed symbols dumps report metrics statements)),
	'SELECT count(*) FROM pg_leakhunt_capacity()',
	q{SELECT length(pg_leakhunt_flamegraph('all'))},
	q{SELECT length(pg_leakhunt_page('all'))},
	q{SELECT count(explanation) FROM pg_leakhunt_explain()},
	q{SELECT count(explanation) FROM (SELECT pid FROM pg_leakhunt_processes ORDER BY random() LIMIT 1) p, pg_leakhunt_explain(p.pid)},
	q{SELECT count(*) FROM (SELECT file FROM pg_leakhunt_dumps ORDER BY created_at DESC LIMIT 1) d, pg_leakhunt_report(d.file)},
	'SELECT count(*) FROM pg_leakhunt_memory()');

# A leak that is planted: statements that lose so many bytes in all, at one place, which the log
# must tell, or must not where a pattern suppresses it.
our %plants = (
	top => { sql => 'SELECT leak_top(1000, 250);', bytes => 250_000, place => qr/at leaking_top .*in TopMemoryContext/ },
	cache => { sql => 'SELECT leak_cache(2000, 125);', bytes => 250_000, place => qr/at leaking_in .*in CacheMemoryContext/ },
	routine => { sql => 'SELECT remember(250);', bytes => 250_000, place => qr/at leaking_top .*in TopMemoryContext/ },
	generation => { sql => 'SELECT leak_generation(1000, 250);', bytes => 250_000, place => qr/at leaking_in .*in leaker generation/ },
	suppressed => { sql => 'SELECT leak_child(1000, 250);', bytes => 250_000, place => undef });

# How often a plant runs its statement.
our $rounds = 40;

sub _ask_for
{
	my ($word) = @_;

	return "SELECT '$word', sum(live_bytes), ceil(sqrt(sum(error_bytes::float8 ^ 2))) FROM pg_leakhunt_report(pg_backend_pid()) WHERE site ~ '^leaking_';";
}

sub plant
{
	my ($name) = @_;
	my $plant = $plants{$name};

	return join("\n", '\set QUIET on', '\pset tuples_only on', '\pset format unaligned', 'SELECT pg_backend_pid();',
		("$plant->{sql}\n\\! sleep 0.2") x $rounds,
		'\! sleep 0.5', _ask_for('held'), '\! sleep 6', _ask_for('still'),
		q{SELECT 'over';}, '');
}

1;
