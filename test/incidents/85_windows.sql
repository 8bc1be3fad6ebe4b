-- Window functions and sorts
--
-- A statement sorts 300,000 rows for its windows, and is over.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT count(*) FROM (SELECT sum(i) OVER (PARTITION BY i % 100 ORDER BY i), lag(i) OVER (ORDER BY i) FROM generate_series(1, 300000) i) x;
