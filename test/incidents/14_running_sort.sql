-- A big sort, while it runs
--
-- work_mem allows 256 MB to a sort, and the session has taken some 140 MB for one.
--
-- suspect: none
-- says: Verdict: none
-- says: sorts hold [0-9]+ MB, no more than its settings allow. work_mem allows 256 MB for each sort
-- never: Verdict: (leak|held|query)
SET work_mem = '256MB';
SELECT pg_sleep(3600) FROM (SELECT md5(i::text) FROM generate_series(1, 1200000) i ORDER BY 1 OFFSET 1) sorted LIMIT 1;
