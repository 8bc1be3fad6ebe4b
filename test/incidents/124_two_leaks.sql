-- Two functions leak, each by itself
--
-- A statement calls two functions of an extension, and each of them keeps something. They have
-- nothing in common but who calls them.  Which of them holds more is not known for sure:
-- it is 30 MB and 21 MB, with errors of 9 MB and 8 MB.
--
-- suspect: @(leak keep_one TopMemoryContext*leak keep_other TopMemoryContext|leak keep_other TopMemoryContext*leak keep_one TopMemoryContext)
-- says: Verdict: leak at keep_one
-- says: Verdict: leak at keep_other
-- never: call sites of
SELECT format('SELECT keep_one(), keep_other()') FROM generate_series(1, 3000) i \gexec
SELECT pg_sleep(3600);
