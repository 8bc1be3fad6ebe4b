-- 500 tables
--
-- A session reads 500 tables, and PostgreSQL keeps what it has learned of each.
--
-- suspect: none
-- says: Verdict: none
-- says: cache
-- says: Contexts named "index info": (about )?[0-9]+ contexts \([0-9.]+ kB\) such as table_[0-9]+_pkey
SELECT format('SELECT count(*) FROM many.table_%s WHERE id > 0;', i)
FROM generate_series(1, 500) i \gexec
