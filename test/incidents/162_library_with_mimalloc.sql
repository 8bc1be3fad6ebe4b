-- A library that forgets to free, in a server with mimalloc
--
-- libxml2 gets 300 MB from malloc, 5 MB in each of 60 statements, past PostgreSQL's
-- memory contexts. The server's malloc is that of mimalloc.
--
-- needs: leak_by_libxml(1, 1)
-- preloaded: libmimalloc.so.2
-- suspect: malloc - -
-- figure: 300000000 at least
-- says: Its malloc is that of mimalloc
-- says: Verdict: malloc
-- never: Nothing keeps growing
-- never: sample_interval
-- never: MALLOC_TRIM
SELECT 'SELECT leak_by_libxml(1000, 5);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
