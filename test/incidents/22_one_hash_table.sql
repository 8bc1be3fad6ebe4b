-- A hash join of rows with one key
--
-- A hash join builds its table of 400,000 rows that all have the same key. They cannot
-- be split into batches, so that it takes some 7 times what is allowed, within a second
-- or two, and holds it. Other kinds of joins are turned off.
--
-- read: first
-- source: https://techcommunity.microsoft.com/t5/microsoft-blog-for-postgresql/understanding-hash-join-memory-usage-and-oom-risks-in-postgresql/ba-p/4500308
-- suspect: query * Hash*
-- says: Verdict: query
-- says: in one hash table or sort
-- says: EXPLAIN the statement
-- says: SET enable_hashjoin = off
-- never: Verdict: (leak|held|contexts)
CREATE TABLE orders WITH (autovacuum_enabled = off) AS SELECT 1 AS status, i AS id, repeat('x', 100) AS note FROM generate_series(1, 400000) i;
CREATE TABLE states WITH (autovacuum_enabled = off) AS SELECT i AS status, repeat('y', 200) AS name FROM generate_series(1, 400000) i;
SET enable_mergejoin = off; SET enable_nestloop = off; SET max_parallel_workers_per_gather = 0;
SELECT count(CASE WHEN id = 400000 THEN pg_sleep(3600) END), max(note), max(name)
FROM states LEFT JOIN orders ON orders.status = states.status;
