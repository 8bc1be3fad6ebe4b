-- Temporary tables of a transaction each
--
-- 1,000 transactions create a temporary table ON COMMIT DROP each.
--
-- source: https://github.com/brianc/node-postgres/issues/391
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT 'BEGIN;', format('CREATE TEMP TABLE t%s (i int PRIMARY KEY, t text) ON COMMIT DROP;', i),
    format('INSERT INTO t%s SELECT i, i::text FROM generate_series(1, 100) i;', i), 'COMMIT;' FROM generate_series(1, 1000) i \gexec
