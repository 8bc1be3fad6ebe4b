-- A leak of a session that does nothing any more
--
-- A function leaks in each of many statements, and then the session sleeps. Whoever asks again and
-- again has it count its memory each time, which is no work.
--
-- suspect: leak leaking_top TopMemoryContext
-- says: Verdict: leak at leaking_top
-- never: Nothing keeps growing
SELECT 'SELECT leak_top(1000, 20)' FROM generate_series(1, 2000) i \gexec
SELECT pg_sleep(3600);
