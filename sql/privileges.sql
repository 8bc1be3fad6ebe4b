-- Who sees whose rows, and who may change what.
SET client_min_messages = warning;
CREATE EXTENSION pg_leakhunt;
SET pg_leakhunt.sample_interval = 1;
CREATE ROLE regress_leakhunt_nobody;
CREATE ROLE regress_leakhunt_reader IN ROLE pg_read_all_stats;
PREPARE kept AS SELECT count(*) FROM pg_class WHERE relname = $1;

-- a role without privileges sees nothing of this superuser's session
SET ROLE regress_leakhunt_nobody;
SELECT count(*) FROM pg_leakhunt_processes;
SELECT count(*) FROM pg_leakhunt_report;
SELECT count(*) FROM pg_leakhunt_contexts;
SELECT count(*) FROM pg_leakhunt_queries;
SELECT count(*) FROM pg_leakhunt_symbols;
SELECT count(*) FROM pg_leakhunt_suspects;
SELECT count(*) FROM pg_leakhunt_suppressed;
SELECT count(*) FROM pg_leakhunt_coverage;
INSERT INTO pg_leakhunt_suppressions VALUES ('function');
SELECT count(*) FROM pg_leakhunt_history(pg_backend_pid());
SELECT pg_leakhunt_baseline();
SELECT pg_leakhunt_start(pg_backend_pid(), 1);
SELECT pg_leakhunt_stop();
SELECT count(*) FROM pg_leakhunt_get_sites(pg_backend_pid());
SET pg_leakhunt.sample_interval = 1;
SET pg_leakhunt.scope = 'all';
-- (the text differs between releases)
\set VERBOSITY sqlstate
SHOW pg_leakhunt.profile_directory;
\set VERBOSITY default
RESET ROLE;

-- pg_read_all_stats is enough to see it
SET ROLE regress_leakhunt_reader;
SELECT count(*) FROM pg_leakhunt_processes WHERE pid = pg_backend_pid();
SELECT count(*) > 0 AS has_rows FROM pg_leakhunt_report
WHERE pid = pg_backend_pid();
RESET ROLE;

-- and so is to be of the process' own role
SELECT format('GRANT %I TO regress_leakhunt_nobody', current_user) \gexec
SET ROLE regress_leakhunt_nobody;
SELECT count(*) FROM pg_leakhunt_processes WHERE pid = pg_backend_pid();
SELECT backend_type, loaded FROM pg_leakhunt_coverage
WHERE pid = pg_backend_pid();
RESET ROLE;

DROP ROLE regress_leakhunt_nobody, regress_leakhunt_reader;
DROP EXTENSION pg_leakhunt;
