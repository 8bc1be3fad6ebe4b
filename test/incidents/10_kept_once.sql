-- Kept, once
--
-- A single statement leaves 100 MB in the session.
--
-- suspect: held leaking_top TopMemoryContext
-- figure: 100000000 left
-- says: Verdict: held at leaking_top \(leaker\.c:[0-9]+\) in TopMemoryContext
-- says: Allocated by the statement: SELECT leak_top\(1000, 100000\)
-- never: Verdict: leak
SELECT leak_top(1000, 100000);
