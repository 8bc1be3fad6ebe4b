-- 14 chunks of 5 MB
--
-- A library keeps a chunk of 5 MB for the session in each of 14 transactions.
--
-- suspect: @(leak|held) hold_chunk TopMemoryContext
-- says: Verdict: (leak|held) at hold_chunk
-- says: There is no (hurry|need to act)
-- never: Verdict: (none|query)
-- never: pg_terminate_backend
SELECT 'SELECT hold_chunk(5242880);', 'SELECT pg_sleep(0.1);' FROM generate_series(1, 14) \gexec
