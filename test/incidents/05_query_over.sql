-- The memory of a query, after it
--
-- A statement, whose function kept 400 MB, has ended and given its memory back. Its
-- session is still connected.
--
-- read: first
-- suspect: none
-- passing: yes
-- figure: 400000000 the largest call site held about
-- says: Verdict: none
-- says: At its sampled peak
-- says: holding_in \(incidents\.c:[0-9]+\) in ExecutorState
-- says: SELECT count\(\*\) FROM hold_rows\(400, 4\)
SELECT count(*) FROM hold_rows(400, 4);
SELECT pg_sleep(2);
