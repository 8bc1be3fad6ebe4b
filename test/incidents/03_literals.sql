-- A leak, in statements that differ in their literals
--
-- A function keeps half a megabyte for the session in each of 200 statements, no two
-- of which have the same text.  100 MB are leaked.
--
-- suspect: leak leaking_in CacheMemoryContext
-- figure: 100000000 sampled memory\.
-- says: Verdict: leak at leaking_in \(leaker\.c:[0-9]+\) in CacheMemoryContext
-- says: Allocated by (the statement|statements of this form): SELECT leak_cache\(1000, 500\), 'literal [0-9]+';
-- never: in (at least )?[0-9]+ statements
SELECT format('SELECT leak_cache(1000, 500), ''literal %s'';', i), 'SELECT pg_sleep(0.02);'
FROM generate_series(1, 200) i \gexec
