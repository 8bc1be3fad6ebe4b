-- A leak, always in the same statement
--
-- A function of an extension keeps a megabyte for the session each time that it is
-- called, by the same statement.  100 MB are leaked.
--
-- read: first
-- suspect: leak leaking_top TopMemoryContext
-- figure: 100000000 sampled memory\.
-- says: This call site holds (all|[0-9]+%) of the process' sampled memory\.
-- says: It grew by [0-9]+ kB per transaction over the last [0-9]+ transactions, and by [0-9]+ kB over the [0-9]+ before\.
-- says: Verdict: leak at leaking_top \(leaker\.c:[0-9]+\) in TopMemoryContext
-- says: Allocated by (the statement|statements of this form): SELECT leak_top\(1000, 1000\)
-- never: in [0-9]+ statements
SELECT 'SELECT leak_top(1000, 1000);', 'SELECT pg_sleep(0.03);'
FROM generate_series(1, 100) \gexec
