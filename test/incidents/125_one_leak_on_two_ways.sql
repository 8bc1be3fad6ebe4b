-- One function leaks, which two others call
--
-- Two functions of an extension call a third one, whose memory they never free.
--
-- suspect: leak kept TopMemoryContext
-- says: Verdict: leak at kept \([a-z.:0-9]+\) in TopMemoryContext\.
-- says: (9[0-9]%|all) of the process' sampled memory
SELECT 'SELECT keep_on_two_ways()' FROM generate_series(1, 3000) i \gexec
SELECT pg_sleep(3600);
