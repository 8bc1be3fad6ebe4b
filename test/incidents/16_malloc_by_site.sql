-- A library that forgets to free, and malloc by call site
--
-- libxml2 gets 300 MB from malloc, 5 MB in each of 60 statements, past PostgreSQL's
-- memory contexts. pg_leakhunt_malloc.so is preloaded into the server, so call sites of
-- malloc are known.
--
-- read: first
-- needs: leak_by_libxml(1, 1)
-- preloaded: pg_leakhunt_malloc.so
-- suspect: malloc leak_by_libxml [[]malloc]
-- figure: 300000000 sampled memory\.
-- says: Verdict: malloc at leak_by_libxml
-- never: Verdict: leak
SELECT 'SELECT leak_by_libxml(1000, 5);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
