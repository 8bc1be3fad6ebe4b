-- A sort in a leader and its workers
--
-- Three processes sort for one statement, each within its work_mem. Each is told with the
-- others.
--
-- passing: yes
-- suspect: none
-- says: Its 2 parallel workers
-- says: parallel workers \(2\) included
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE IF NOT EXISTS sorted AS SELECT i AS id, md5(i::text) AS filler FROM generate_series(1, 3000000) i;
ANALYZE sorted;
SET work_mem = '200MB';
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT CASE WHEN n = 1 THEN pg_sleep(3600)::text END
FROM (SELECT row_number() OVER () AS n FROM (SELECT filler FROM sorted ORDER BY filler) ordered) numbered;
