-- Each function is called once, and says something.  A call that is missing here is
-- told at the end.  Works with the module preloaded or not.
SET client_min_messages = warning;
CREATE EXTENSION pg_leakhunt;
SET pg_leakhunt.sample_interval = 1;
SET track_functions = 'all';
BEGIN;

-- this session, in which a prepared statement is kept
SELECT pg_backend_pid() AS pid \gset
PREPARE kept AS SELECT count(*) AS "<&'>" FROM pg_class WHERE relname = $1;
INSERT INTO pg_leakhunt_suppressions VALUES ('context:CachedPlanQuery');

-- what is asked of processes
SELECT count(*) > 0 AS processes FROM _pg_leakhunt_processes();
SELECT count(*) > 0 AS sampling FROM _pg_leakhunt_sampling();
SELECT count(*) > 0 AS history FROM pg_leakhunt_history(:pid);
SELECT count(*) >= 0 AS history_by_family FROM pg_leakhunt_history(:pid, by => 'family');
SELECT count(*) > 0 AS ages FROM pg_leakhunt_ages(:pid);
SELECT count(*) > 0 AS report FROM pg_leakhunt_report(:pid);
SELECT count(*) > 0 AS contexts FROM _pg_leakhunt_contexts();
SELECT count(*) > 0 AS symbols FROM _pg_leakhunt_symbols();
SELECT count(*) >= 0 AS suspects FROM _pg_leakhunt_suspects();
SELECT count(*) > 0 AS leakhunt FROM _pg_leakhunt();
SELECT count(*) AS suppressions FROM _pg_leakhunt_suppressed();
SELECT count(*) > 0 AS metrics,
    max(value) FILTER (WHERE name = 'memory_available_bytes') <
    max(value) FILTER (WHERE name = 'memory_total_bytes') AS memory FROM _pg_leakhunt_metrics();
SELECT cardinality(array_agg(g)) FROM generate_series(1, 400000) g;
SELECT cardinality(array_agg(g)) FROM generate_series(1, 400001) g;
SELECT calls, mean_peak_bytes BETWEEN 1048576 AND max_peak_bytes AS mean FROM _pg_leakhunt_statements()
    WHERE query LIKE 'SELECT cardinality%';
SELECT explanation LIKE '%' || :pid || '%' AS explained FROM pg_leakhunt_explain(:pid);
SELECT count(*) > 1 AS explained FROM pg_leakhunt_explain() WHERE pid IS NULL OR pid = :pid;

-- what the memory consists of: parts that add up
WITH memory AS MATERIALIZED (SELECT * FROM pg_leakhunt_memory())
SELECT count(*) > 5 AS parts, bool_and(whole.bytes = parts.bytes) AS add_up
    FROM memory whole JOIN (SELECT part_of, sum(bytes) AS bytes FROM memory GROUP BY part_of) parts
        ON parts.part_of = whole.number;

-- what a text says of memory
SELECT pg_leakhunt_explain_contexts($$
TopMemoryContext: 97664 total in 5 blocks; 11632 free (9 chunks); 86032 used
  CacheMemoryContext: 83886080 total in 17 blocks; 1048576 free (0 chunks); 82837504 used
    CachedPlan: 41943040 total in 12 blocks; 0 free (0 chunks); 41943040 used: SELECT 'secret'
Grand total: 125926784 bytes in 34 blocks; 1060208 free (9 chunks); 124866576 used
$$, redact => true) LIKE '%had 120 MB in 3 memory contexts%40 MB for prepared statements%SELECT ?.%DEALLOCATE%' AS explained;
SELECT pg_leakhunt_explain_contexts('ERROR:  invalid memory alloc request size 18446744073709551613') LIKE '%it is -3.%' AS explained;
SELECT pg_leakhunt_explain_contexts('nothing', format => 'json')::json ->> 'statistics' AS statistics;
SELECT pg_leakhunt_explain_contexts(NULL) IS NULL AS none;

-- a statement that leaves nothing behind
SELECT count(*) AS leaks FROM pg_leakhunt_check('SELECT 1');

-- which node of a plan holds it
SELECT count(*) > 1 AS explained FROM pg_leakhunt_explain_analyze('SELECT array_agg(g) FROM generate_series(1, 1000) g', 'COSTS OFF');

-- what a statement would take
SELECT count(*) > 1 AS estimated FROM pg_leakhunt_estimate('SELECT 1');

-- what changes how processes are sampled
SELECT pg_leakhunt_baseline(:pid);
SELECT pg_leakhunt_baseline_all() > 0 AS baselines;
SELECT pg_leakhunt_start(:pid, 1024);
SELECT pg_leakhunt_start(:pid, '1kB');
SELECT pg_leakhunt_stop(:pid);
SELECT pg_leakhunt_trim(:pid) >= 0 AS given_back;
SELECT _pg_leakhunt_reset_caches();
SELECT pg_leakhunt_start_all(1048576);
SELECT pg_leakhunt_start_all('1MB');
SELECT pg_leakhunt_stop_all();
SELECT pg_leakhunt_reset_all();
SELECT pg_leakhunt_statements_reset(query_id => 1);

-- how many connections there may be
SELECT count(*) > 0 AS rows, bool_and(looks >= 0 AND advice <> '' AND saved_bytes IS NULL) AS figures FROM pg_leakhunt_capacity(NULL);
SELECT pg_leakhunt_capacity_reset();

-- dumps
SELECT pg_leakhunt_dump(:pid) AS older \gset
PREPARE between AS SELECT 1;
SELECT pg_leakhunt_dump(:pid, symbolized => true) AS newer \gset
SELECT count(*) = 2 AS dumps, bool_and(size_bytes = length(_pg_leakhunt_dump_file(file))) AS sizes
    FROM _pg_leakhunt_dumps() WHERE file IN (:'older', :'newer');
SELECT count(*) > 0 AS dump FROM pg_leakhunt_report(:'newer');
SELECT explanation LIKE '%' || :pid || '%' AS explained FROM pg_leakhunt_explain(:'newer');
SELECT count(*) > 0 AS history FROM pg_leakhunt_history(:'newer');
SELECT count(*) >= 0 AS history_by_site FROM pg_leakhunt_history(:'newer', by => 'site');
SELECT count(*) > 0 AS ages FROM pg_leakhunt_ages(:'newer');
SELECT length(_pg_leakhunt_dump_file(:'newer')) > 0 AS file;
SELECT pg_leakhunt_heap(pg_backend_pid()) LIKE 'heap profile: %' AS heap;
SELECT pg_leakhunt_heap(:'newer') LIKE '%--- heap%heap profile: %' AS heap_of_file;
SELECT count(*) > 0 AS differences, bool_or(growth_bytes > 0 AND query LIKE 'PREPARE between%') AS growth
    FROM pg_leakhunt_diff(:'older', :'newer');

-- pictures and profiles of a process, a dump, and all processes
SELECT count(*) > 0 AS top FROM pg_leakhunt_top(:pid);
SELECT count(*) > 0 AS top FROM pg_leakhunt_top(:'newer');
SELECT count(*) > 0 AS top FROM pg_leakhunt_top('all');
SELECT pg_leakhunt_folded(:pid) LIKE '%;%' AS folded;
SELECT pg_leakhunt_folded(:'newer') LIKE '%;%' AS folded;
SELECT pg_leakhunt_folded('all') LIKE '%;%' AS folded;
SELECT pg_leakhunt_flamegraph(:pid) LIKE '%</svg>%' AS flamegraph;
SELECT pg_leakhunt_flamegraph(:'newer') LIKE '%</svg>%' AS flamegraph;
SELECT pg_leakhunt_flamegraph(:pid, query => true) LIKE '%kept AS SELECT count(*) AS &#x22;&#x3C;&#x26;&#x27;&#x3E;&#x22; FROM%' AS escaped;
SELECT pg_leakhunt_flamegraph('all') LIKE '%</svg>%' AS flamegraph;
SELECT pg_leakhunt_page(:pid) LIKE '<!DOCTYPE html>%</html>_' AS page;
SELECT pg_leakhunt_page(:'newer') LIKE '<!DOCTYPE html>%</html>_' AS page;
SELECT pg_leakhunt_page() LIKE '<!DOCTYPE html>%</html>_' AS page;
SELECT length(pg_leakhunt_pprof(:pid)) > 0 AS pprof;
SELECT length(pg_leakhunt_pprof(:pid, max_samples => 1)) > 0 AS smallest_pprof;
SELECT length(pg_leakhunt_pprof(:'newer')) > 0 AS pprof;
SELECT length(pg_leakhunt_pprof('all')) > 0 AS pprof;

-- (a dump has the last proof of its process, where there was one)
SELECT count(*) > 0 AS proof FROM pg_leakhunt_proof(:pid);
SET client_min_messages = error;
SELECT count(*) >= 0 AS proof FROM pg_leakhunt_proof(:'newer');
SET client_min_messages = warning;

-- functions that were not called
SELECT objid::regprocedure
FROM pg_depend JOIN pg_extension e ON refobjid = e.oid
WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_extension'::regclass
    AND extname = 'pg_leakhunt'
    AND coalesce(pg_stat_get_xact_function_calls(objid), 0) = 0;

COMMIT;
DROP EXTENSION pg_leakhunt;
