-- A leak of small chunks, which take more than was asked for
--
-- A function leaves chunks of 9 bytes in TopMemoryContext. With its header each takes 32 bytes.
--
-- suspect: leak * TopMemoryContext
-- says: Verdict: leak at
-- never: Verdict: growing
-- never: No single cause
SELECT format('SELECT leak_top(9, 1000)') FROM generate_series(1, 4000) i \gexec
SELECT pg_sleep(3600);
