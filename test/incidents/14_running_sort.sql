-- A big sort, while it runs
--
-- work_mem allows 256 MB to a sort, and the session has taken some 200 MB for one.
--
-- suspect: none
-- says: Verdict: none
-- says: work_mem|settings allow
-- never: Verdict: (leak|held|query)
SET work_mem = '256MB';
SELECT pg_sleep(3600) FROM (SELECT md5(i::text) FROM generate_series(1, 1200000) i ORDER BY 1 OFFSET 1) sorted LIMIT 1;
