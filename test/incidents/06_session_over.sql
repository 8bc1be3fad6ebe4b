-- The memory of a query, after its session
--
-- The same query has ended, and its session, too.
--
-- asked: when it has ended
-- suspect: none
-- says: (leak approximation summary|memory peak)
-- says: holding_in \(incidents\.c:[0-9]+\) +\| ExecutorState +\| (3[2-9]|4[0-3])[0-9] MB
-- says: SELECT count\(\*\) FROM hold_rows\(400, 3\)
SELECT count(*) FROM hold_rows(400, 3);
