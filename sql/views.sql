-- The views as users see them.  Works with the module preloaded or not.
SET client_min_messages = warning;
CREATE EXTENSION pg_leakhunt;
SET pg_leakhunt.sample_interval = 1;

\d pg_leakhunt
\d pg_leakhunt_processes
\d pg_leakhunt_sampling
\d pg_leakhunt_report
\d pg_leakhunt_contexts
\d pg_leakhunt_symbols
\d pg_leakhunt_suspects
\d pg_leakhunt_metrics
\d pg_leakhunt_statements

-- the largest suspects come first, and what may be no fault behind all others
SELECT regexp_replace(substring(pg_get_viewdef('pg_leakhunt_suspects') FROM 'ORDER BY.*'), '\ms\.', '', 'g') AS suspects_come;

-- comments are short enough for psql: of a view, beside what \dv+ shows of it
SELECT max(length(obj_description(oid, 'pg_class'))) FILTER (WHERE relkind = 'v') <= 42 AS views,
    max(length(obj_description(oid, 'pg_class'))) FILTER (WHERE relkind = 'r') <= 60 AS tables
FROM pg_class WHERE relname ~ '^pg_leakhunt';
SELECT p.oid::regprocedure, obj_description(p.oid, 'pg_proc')
FROM pg_proc p
WHERE p.proname ~ '^_?pg_leakhunt' AND length(obj_description(p.oid, 'pg_proc')) > 180;

-- every view, column and function is explained
SELECT c.relname, a.attname
FROM pg_class c
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass
        AND d.refobjid = e.oid AND e.extname = 'pg_leakhunt'
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE coalesce(col_description(c.oid, a.attnum), '') = ''
    OR coalesce(obj_description(c.oid, 'pg_class'), '') = '';
SELECT p.oid::regprocedure
FROM pg_proc p
WHERE p.proname ~ '^_?pg_leakhunt'
    AND coalesce(obj_description(p.oid, 'pg_proc'), '') = '';

-- this session, in which a prepared statement is kept
PREPARE kept AS SELECT count(*) FROM pg_class WHERE relname = $1;
SELECT backend_type, state, database = current_database() AS database,
    username = session_user AS username, sampling, sample_interval, scope,
    live_bytes > 0 AS has_live, peak_bytes >= live_bytes AS has_peak,
    samples_taken > samples_live AS taken, samples_dropped, sites > 0 AS has_sites,
    overhead_bytes > profile_bytes AS has_overhead,
    started_at < now() AS started, last_sample_at IS NOT NULL AS sampled
FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid)
WHERE pid = pg_backend_pid();

-- at interval 1, which CREATE EXTENSION did not have, all rows are exact
SELECT count(*) > 10 AS has_rows, bool_and(error_bytes = 0) AS exact,
    bool_and(live_count = samples AND live_count <= total_count) AS counted,
    bool_and(survival BETWEEN 0 AND 1) AS survival,
    bool_and(live_bytes <= total_bytes) AS bytes,
    bool_and(first_at <= last_at) AS times,
    bool_and(CASE WHEN stack IS NULL THEN site = '[former stacks]'
        ELSE site = ANY (stack) AND stack_id IS NOT NULL END) AS stacks,
    bool_and(stack[array_upper(stack, 1)] LIKE '\_start%') AS whole_stacks,
    string_agg(DISTINCT lifetime, ',') AS lifetimes
FROM pg_leakhunt_report
WHERE pid = pg_backend_pid() AND query !~ '^(CREATE|SET)';

-- the report begins with the largest, of all and of one process
SELECT bool_and(live_bytes <= before) AS sorted
FROM (SELECT live_bytes, lag(live_bytes) OVER () AS before
      FROM pg_leakhunt_report) AS report;
SELECT bool_and(live_bytes <= before) AS sorted
FROM (SELECT live_bytes, lag(live_bytes) OVER () AS before
      FROM pg_leakhunt_report(pg_backend_pid())) AS report;

-- what names the functions: at least what the server exports
SELECT count(*) = 1 AS server, bool_and(source <> 'nothing') AS source,
    bool_and(build_id ~ '^[0-9a-f]{8,}$') AS build_id,
    bool_and(file IS NOT NULL) AS file,
    bool_and((source = 'debug information') = (hint IS NULL)) AS hint
FROM pg_leakhunt_symbols
WHERE path LIKE '%/postgres';

-- a statement is blamed for what it keeps
SELECT bool_or(live_bytes > 0) AS keeps
FROM pg_leakhunt_report(pg_backend_pid(), false)
WHERE query LIKE 'PREPARE kept%';

-- what lives shorter is seen, too
DECLARE held CURSOR WITH HOLD FOR SELECT generate_series(1, 1000);
SELECT lifetime, sum(live_bytes) > 0 AS live
FROM pg_leakhunt_contexts
WHERE pid = pg_backend_pid() AND lifetime <> 'error'
GROUP BY lifetime ORDER BY lifetime;
CLOSE held;

-- without stacks, and for one process
SELECT count(*) > 0 AS has_rows, count(site) AS sites, count(stack) AS stacks
FROM pg_leakhunt_report(pg_backend_pid(), false);
SELECT count(*) FROM pg_leakhunt_report(0);
SELECT count(*) FROM pg_leakhunt_report(-1);
SELECT count(*) FROM pg_leakhunt_report(2147483647);
SELECT count(DISTINCT pid) FROM pg_leakhunt_report(pg_backend_pid());

-- a null pid never means all processes
SELECT pg_leakhunt_start((SELECT pid FROM pg_stat_activity WHERE pid < 0), 1);
SELECT pg_leakhunt_stop(NULL);
SELECT pg_leakhunt_baseline(NULL);
SELECT count(*) FROM pg_leakhunt_top(NULL::int);
SELECT pg_leakhunt_folded(NULL::int);
SELECT pg_leakhunt_flamegraph(NULL::text);

-- pictures and profiles of what is not there are null
SELECT pg_leakhunt_folded(2147483647);
SELECT pg_leakhunt_flamegraph(2147483647);
SELECT pg_leakhunt_pprof(2147483647);
SELECT count(*) FROM pg_leakhunt_top(2147483647);

-- nor is a profile of nothing, or of what nobody has heard of
SELECT pg_leakhunt_pprof(pg_backend_pid(), max_samples => 0);
SELECT pg_leakhunt_pprof(pg_backend_pid(), types => '{lost}');
SELECT pg_leakhunt_pprof(pg_backend_pid(), types => '{}');

-- a pid in quotes is not the name of a file
SELECT count(*) FROM pg_leakhunt_top('2147483647');

-- intervals, with units as the setting takes them
SELECT pg_leakhunt_start(pg_backend_pid(), '32kB', duration => '1 s');
SELECT pg_leakhunt_start(pg_backend_pid(), '32 apples');
SELECT pg_leakhunt_start(pg_backend_pid(), '0');
SELECT pg_leakhunt_start(pg_backend_pid(), '-1MB');
SELECT pg_leakhunt_start(pg_backend_pid(), '3GB');

-- durations
SELECT pg_leakhunt_start(pg_backend_pid(), 1, 'all', '0 s');
SELECT pg_leakhunt_start(pg_backend_pid(), 1, 'all', '-1 day');
SELECT pg_leakhunt_start_all(duration => '20 years');
SELECT pg_leakhunt_start_all(duration => '3650 days 1 microsecond');
SELECT pg_leakhunt_start_all(duration => '2000000000 months');

-- functions that scripts of other versions have created: never with columns
-- or arguments shifted
CREATE FUNCTION older_processes(OUT pid int, OUT backend_type text)
RETURNS SETOF record
AS '$libdir/pg_leakhunt', 'pg_leakhunt_processes' LANGUAGE C;
SELECT * FROM older_processes();
CREATE FUNCTION older_start(pid int) RETURNS bool
AS '$libdir/pg_leakhunt', 'pg_leakhunt_start' LANGUAGE C;
SELECT older_start(pg_backend_pid());
CREATE FUNCTION newer_report(int, bool, int, OUT pid int, OUT backend_type text)
RETURNS SETOF record
AS '$libdir/pg_leakhunt', 'pg_leakhunt_report' LANGUAGE C;
SELECT * FROM newer_report(1, true, 1);
CREATE FUNCTION older_folded(pid int) RETURNS text
AS '$libdir/pg_leakhunt', 'pg_leakhunt_folded' LANGUAGE C;
SELECT older_folded(pg_backend_pid());
DROP FUNCTION older_processes, older_start, newer_report, older_folded;

DROP EXTENSION pg_leakhunt;
