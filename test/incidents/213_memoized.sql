-- A Memoize node within its limit
--
-- A nested loop keeps the rows that it has found for each key: some 200 MB of the 256 MB
-- that work_mem and hash_mem_multiplier allow. It never takes more than they allow.
--
-- source: https://github.com/smnorris/bcfishpass/issues/354
-- suspect: none
-- says: Verdict: none
-- says: no more than its settings allow
-- says: 256 MB
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '128MB'; SET hash_mem_multiplier = 2; SET max_parallel_workers_per_gather = 0;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
CREATE TABLE crossings (id int PRIMARY KEY, stream text);
INSERT INTO crossings SELECT i, repeat('s', 400) FROM generate_series(1, 300000) i;
CREATE TABLE barriers (n int PRIMARY KEY, crossing int);
INSERT INTO barriers SELECT i, i % 300000 + 1 FROM generate_series(1, 600000) i;
ANALYZE crossings, barriers;
UPDATE pg_statistic SET stadistinct = 50000 WHERE starelid = 'barriers'::regclass AND staattnum = 2;
SELECT count(CASE WHEN b.n = 600000 AND c.stream > '' THEN pg_sleep(3600)::text END) FROM (SELECT * FROM barriers ORDER BY n) b JOIN crossings c ON c.id = b.crossing;
