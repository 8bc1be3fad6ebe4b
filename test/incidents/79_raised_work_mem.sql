-- work_mem raised to 512 MB
--
-- A session may take 1 GB for a hash table, which is work_mem times hash_mem_multiplier.
-- Its statement takes some 130 MB in all.
--
-- suspect: none
-- says: Verdict: none
-- says: hash tables hold [0-9]+ MB, no more than its settings allow\.
-- says: Besides, [0-9]+ MB is held for the executor
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '512MB'; SET max_parallel_workers_per_gather = 0;
SELECT count(*), pg_sleep(3600) FROM (SELECT i, count(*) FROM generate_series(1, 800000) i GROUP BY i) a;
