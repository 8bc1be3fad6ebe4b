-- The memory of a query, after it
--
-- The same query has ended, and its session is there.
--
-- suspect: none
-- figure: 400000000 it held
-- says: Verdict: none
-- says: When it held most
-- says: holding_in \(incidents\.c:[0-9]+\) in ExecutorState
-- says: SELECT count\(\*\) FROM hold_rows\(400, 4\)
SELECT count(*) FROM hold_rows(400, 4);
SELECT pg_sleep(2);
