-- A buffer that grows by 3 MB in each transaction
--
-- A library enlarges a buffer of the session by 3 MB in each of 80 transactions.
--
-- suspect: @(leak|held) grow_buffer TopMemoryContext
-- says: Verdict: (leak|held) at grow_buffer
-- never: Verdict: (none|query)
SELECT 'SELECT grow_buffer(3145728);', 'SELECT pg_sleep(0.02);' FROM generate_series(1, 80) \gexec
