-- A big sort, after it
--
-- A statement that sorted 140 MB has ended, and its sort has given its memory back.
--
-- suspect: none
-- says: Verdict: none
-- says: At its sampled peak
-- never: Verdict: (leak|held|query|freed)
SET work_mem = '256MB';
SELECT max(sorted.md5) FROM (SELECT md5(i::text) FROM generate_series(1, 1200000) i ORDER BY 1 OFFSET 1) sorted;
SELECT pg_sleep(2);
