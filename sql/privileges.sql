-- Who sees whose rows, and who may change what.
SET client_min_messages = warning;
CREATE EXTENSION pg_leakhunt;
SET pg_leakhunt.sample_interval = 1;
CREATE ROLE regress_leakhunt_nobody;
CREATE ROLE regress_leakhunt_reader IN ROLE pg_read_all_stats;

-- this session grows where that is suspicious, and where it is suppressed
INSERT INTO pg_leakhunt_suppressions VALUES ('context:CachedPlanQuery');
SELECT pg_leakhunt_baseline(pg_backend_pid());
DO $$
BEGIN
    FOR i IN 1 .. 20 LOOP
        EXECUTE format('PREPARE kept_%s AS SELECT 1', i);
    END LOOP;
END $$;
SELECT format('DECLARE kept_%s CURSOR WITH HOLD FOR SELECT repeat(''x'', 1000) FROM generate_series(1, 3000)', i)
    FROM generate_series(1, 16) i \gexec
SELECT pg_leakhunt_dump(pg_backend_pid()) IS NOT NULL AS dumped;

-- who may see that may see something of everything
PREPARE seen AS
SELECT 'processes' AS name, count(*) > 0 AS seen FROM pg_leakhunt_processes
UNION ALL SELECT 'sampling', count(*) > 0 FROM pg_leakhunt_sampling
UNION ALL SELECT 'report', count(*) > 0 FROM pg_leakhunt_report
UNION ALL SELECT 'contexts', count(*) > 0 FROM pg_leakhunt_contexts
UNION ALL SELECT 'suspects', count(*) > 0 FROM pg_leakhunt_suspects
UNION ALL SELECT 'pg_leakhunt', count(pid) > 0 FROM pg_leakhunt
UNION ALL SELECT 'suppressed', sum(sites) > 0 FROM pg_leakhunt_suppressed
UNION ALL SELECT 'symbols', count(*) > 0 FROM pg_leakhunt_symbols
UNION ALL SELECT 'dumps', count(*) > 0 FROM pg_leakhunt_dumps
UNION ALL SELECT 'history', count(*) > 0 FROM pg_leakhunt_history(pg_backend_pid())
UNION ALL SELECT 'ages', count(*) > 0 FROM pg_leakhunt_ages(pg_backend_pid())
UNION ALL SELECT 'report()', count(*) > 0 FROM pg_leakhunt_report(pg_backend_pid());
EXECUTE seen;

-- a role without privileges sees nothing of this superuser's session
SET ROLE regress_leakhunt_nobody;
-- (the text of three warnings has the pid)
SET client_min_messages = error;
EXECUTE seen;
SET client_min_messages = warning;
INSERT INTO pg_leakhunt_suppressions VALUES ('function');
SELECT pg_leakhunt_baseline_all();
-- (the text has the pid)
\set VERBOSITY sqlstate
SELECT pg_leakhunt_baseline(pg_backend_pid());
\set VERBOSITY default
SELECT pg_leakhunt_start(pg_backend_pid(), 1);
SELECT pg_leakhunt_stop(pg_backend_pid());
SELECT pg_leakhunt_trim(pg_backend_pid());
SELECT _pg_leakhunt_reset_caches();
SELECT pg_leakhunt_start_all();
SELECT pg_leakhunt_stop_all();
SELECT pg_leakhunt_reset_all();
SELECT pg_leakhunt_dump(pg_backend_pid());
SELECT * FROM pg_leakhunt_check('CREATE TABLE regress_leakhunt_made (a int)', 2, 0);
SELECT pg_leakhunt_explain_analyze('CREATE TABLE regress_leakhunt_made AS SELECT 1');
SET pg_leakhunt.sample_interval = 1;
SET pg_leakhunt.scope = 'all';
-- (the text differs between releases)
\set VERBOSITY sqlstate
SHOW pg_leakhunt.profile_directory;
\set VERBOSITY default
RESET ROLE;

-- pg_read_all_stats is enough to see it
SET ROLE regress_leakhunt_reader;
EXECUTE seen;
RESET ROLE;

-- and so is to be of the process' own role
SELECT current_user AS me \gset
GRANT :"me" TO regress_leakhunt_nobody;
SET ROLE regress_leakhunt_nobody;
EXECUTE seen;
SELECT backend_type, state FROM pg_leakhunt_processes
WHERE pid = pg_backend_pid();
RESET ROLE;

DROP ROLE regress_leakhunt_nobody, regress_leakhunt_reader;
DROP EXTENSION pg_leakhunt;
