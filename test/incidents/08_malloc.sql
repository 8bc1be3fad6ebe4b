-- A library that forgets to free
--
-- libxml2 gets 300 MB from malloc, 5 MB in each of 60 statements, past PostgreSQL's
-- memory contexts.
--
-- source: https://github.com/percona/pg_stat_monitor/issues/792
-- needs: leak_by_libxml(1, 1)
-- suspect: malloc - -
-- figure: 300000000 malloc had given out
-- says: Verdict: malloc
-- says: libxml2\.so
-- never: Verdict: leak
SELECT 'SELECT leak_by_libxml(1000, 5);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
