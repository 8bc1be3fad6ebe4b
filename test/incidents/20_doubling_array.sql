-- An array that doubles
--
-- A library appends to an array of the session in each of 120 statements, and enlarges
-- it to twice its size whenever it is full. It ends at 256 MB.
--
-- suspect: @(leak|held) remember_ids TopMemoryContext
-- says: Verdict: (leak|held) at remember_ids \(incidents\.c:[0-9]+\) in TopMemoryContext
-- never: EXPLAIN
-- never: Verdict: (none|query)
SELECT 'SELECT remember_ids(200000);', 'SELECT pg_sleep(0.02);' FROM generate_series(1, 120) \gexec
