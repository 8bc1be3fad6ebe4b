-- A slow leak behind a large load
--
-- A session keeps 200 MB at once, and then leaks 300 kB in each second.  Two hundredths of
-- what it has are more than it gains in ten seconds.
--
-- suspect: leak leaking_top TopMemoryContext
-- says: Verdict: leak at leaking_top
-- says: kept growing until
-- never: Verdict: none
-- never: hardly changed in the (1[5-9]|[2-9][0-9]) s
SELECT leak_cache(1048576, 200);
SELECT 'SELECT leak_top(1000, 300);', 'SELECT pg_sleep(1);' FROM generate_series(1, 40) \gexec
SELECT pg_sleep(3600);
