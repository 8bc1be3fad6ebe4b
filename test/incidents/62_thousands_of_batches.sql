-- A hash join of thousands of batches
--
-- 9,000 rows have one key and do not fit into one batch, so that a hash join doubles the
-- number of its batches again and again, in vain.  The other rows end up in files of their
-- own, each with a buffer of 8 kB.
--
-- source: https://www.postgresql.org/message-id/flat/20230228190643.1e368315%40karst
-- suspect: query * ExecutorState
-- says: (Allocated by the statement|Allocated by statements of this form|Statement that holds most): SELECT count
-- says: [Bb]atch
-- says: ANALYZE
-- never: Lower work_mem
-- never: Verdict: (leak|held|malloc|mapped|growing)
SET work_mem = '64kB';
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE TEMP TABLE few AS SELECT i FROM generate_series(1, 5000) i;
ANALYZE few;
CREATE TEMP TABLE rows_of_keys AS
    SELECT CASE WHEN i % 5 = 0 THEN 1550703 ELSE i END AS i, '' AS t FROM generate_series(1, 45000) i;
SELECT count(pg_sleep(3600)::text) FROM few JOIN (SELECT i FROM rows_of_keys WHERE t = '') r USING (i);
