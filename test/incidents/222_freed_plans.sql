-- Prepared statements are deallocated, and their memory stays
--
-- A session prepares 9,000 statements, and then deallocates all but the last. glibc can't
-- give the memory of the others back to the kernel, as the last one lies above it.
--
-- source: https://mail-archive.com/search?f=1&l=pgsql-hackers%40lists.postgresql.org&o=newest&q=subject%3A%22Add+GUC+to+tune+glibc%27s+malloc+implementation.%22
-- rests: idle
-- suspect: freed - -
-- says: malloc (keeps|kept) [0-9]+ MB that was freed
-- says: pg_leakhunt_trim
-- says: uses? it again|use it again|no need to act|Nothing
-- never: DEALLOCATE what
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|growing|none)
SELECT format('PREPARE plan_%s AS SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = $1 AND a.attnum > %s;', i, i)
FROM generate_series(1, 9000) i \gexec
SELECT format('DEALLOCATE plan_%s;', i) FROM generate_series(1, 8999) i \gexec
