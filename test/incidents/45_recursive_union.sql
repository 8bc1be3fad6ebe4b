-- A recursive query without duplicates
--
-- WITH RECURSIVE ... UNION keeps all 1,000,000 rows that it has seen.
--
-- suspect: query *
-- says: rows of WITH RECURSIVE \.\.\. UNION
-- says: Write UNION ALL
-- says: never written to disk
-- never: NOT IN|EXCEPT
-- never: Verdict: (leak|held)
-- never: lower hash_mem_multiplier
WITH RECURSIVE t(i) AS (SELECT 1 UNION SELECT i + 1 FROM t WHERE i < 1000000)
SELECT count(*), pg_sleep(3600) FROM t;
