-- 3,000 prepared statements
--
-- A session prepares 3,000 statements and deallocates none.
--
-- suspect: contexts * CachedPlan*
-- says: There were (3000|[12][0-9]{3}) contexts of that name when they were last counted
-- says: Verdict: contexts of CachedPlan
-- says: PREPARE statement_[0-9]+ AS SELECT
-- says: deallocated
-- never: Verdict: leak
SELECT format('PREPARE statement_%s AS SELECT c.relname, a.attname, t.typname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relname = ''x%s'';', i, i), 'SELECT pg_sleep(0.002);'
FROM generate_series(1, 3000) i \gexec
