-- When growth ended, told after another statement
--
-- A session keeps 100 MB within two seconds, and 15 s later runs another statement, which
-- counts its memory anew.
--
-- suspect: *
-- says: Private memory grew by [0-9]+ MB (from [^ ]+ [^ ]+ on, within [0-9]\.[0-9] s|within a second)
-- never: within [0-9][0-9] s
SELECT 'SELECT leak_cache(1000, 10000);', 'SELECT pg_sleep(0.1);' FROM generate_series(1, 10) \gexec
SELECT pg_sleep(15);
SELECT count(*) FROM generate_series(1, 100000);
SELECT pg_sleep(3600);
