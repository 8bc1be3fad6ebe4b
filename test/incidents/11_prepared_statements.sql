-- 3,000 prepared statements
--
-- A session prepares 3,000 statements and deallocates none.
--
-- read: first
-- source: https://devgem.io/posts/managing-memory-usage-for-prepared-statements-in-postgresql-16
-- suspect: contexts * CachedPlan*
-- says: At the last count [0-9]{4,5} contexts for prepared statements
-- says: Verdict: contexts \(prepared statements
-- says: PREPARE statement_[0-9]+ AS SELECT
-- says: Contexts named "CachedPlan[A-Za-z]*": about [0-9]+ contexts \([0-9.]+ MB\) such as PREPARE statement_[0-9]+ AS SELECT
-- says: DEALLOCATE|deallocated
-- never: Verdict: leak
SELECT format('PREPARE statement_%s AS SELECT c.relname, a.attname, t.typname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relname = ''x%s'';', i, i), 'SELECT pg_sleep(0.002);'
FROM generate_series(1, 3000) i \gexec
