-- Rows of 100 kB are sorted
--
-- work_mem allows 1 GB to a sort, and the session sorts 3,000 rows of 100 kB: some 300 MB.
--
-- source: https://github.com/zalando/spilo/issues/42
-- suspect: none
-- says: Verdict: none
-- says: no more than its settings allow\. work_mem allows 1024 MB for each sort
-- never: A single value
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '1GB';
SELECT pg_sleep(3600) FROM (SELECT repeat(md5(i::text), 3125) AS t FROM generate_series(1, 3000) i ORDER BY 1 OFFSET 1) sorted LIMIT 1;
