-- A slow leak behind a large load
--
-- A session keeps 200 MB at once, and then leaks 300 kB in each second.  Two hundredths of
-- what it has are more than it gains in ten seconds.
--
-- suspect: *
-- says: Private memory (grew|has grown) by (1[5-9]|2[0-9])[0-9] MB (from|in the)
-- says: (within|in the) (3[5-9]|[45][0-9]) s
-- never: Verdict: none
SELECT leak_cache(1000, 200000);
SELECT 'SELECT leak_top(1000, 300);', 'SELECT pg_sleep(1);' FROM generate_series(1, 40) \gexec
SELECT pg_sleep(3600);
