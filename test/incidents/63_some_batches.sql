-- A hash join of some batches
--
-- A hash join of 1,000,000 rows has as many batches as its memory needs, and none of them
-- is too large.
--
-- suspect: none
-- says: Verdict: none
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '4MB';
CREATE TEMP TABLE some AS SELECT i FROM generate_series(1, 1000000) i;
ANALYZE some;
SELECT count(pg_sleep(3600)::text) FROM some a JOIN some b USING (i);
