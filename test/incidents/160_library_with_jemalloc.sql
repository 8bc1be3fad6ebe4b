-- A library that forgets to free, in a server with jemalloc
--
-- libxml2 gets 300 MB from malloc, 5 MB in each of 60 statements, past PostgreSQL's
-- memory contexts. The server's malloc is that of jemalloc.
--
-- needs: leak_by_libxml(1, 1)
-- preloaded: libjemalloc.so.2
-- suspect: malloc - -
-- figure: 300000000 malloc had given out
-- says: Its malloc is that of jemalloc
-- says: Verdict: malloc
-- never: Nothing keeps growing
-- never: sample_interval
-- never: MALLOC_TRIM
SELECT 'SELECT leak_by_libxml(1000, 5);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
