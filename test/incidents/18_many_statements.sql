-- A leak that 200 statements run into
--
-- A function keeps half a megabyte for the session in each of 200 statements, which
-- differ in more than their literals.  100 MB are leaked.
--
-- source: https://github.com/powa-team/pg_qualstats/pull/56
-- suspect: leak leaking_in CacheMemoryContext
-- figure: 100000000 sampled memory\.
-- says: Verdict: leak at leaking_in \(leaker\.c:[0-9]+\) in CacheMemoryContext
-- says: in at least [0-9]+ statements
-- says: Statement that holds most: SELECT leak_cache\(1000, 500\) AS statement_[0-9]+;
SELECT format('SELECT leak_cache(1000, 500) AS statement_%s;', i), 'SELECT pg_sleep(0.02);'
FROM generate_series(1, 200) i \gexec
