-- A result that its client has not closed
--
-- A driver runs a statement by the extended protocol in a transaction, and waits. Its
-- portal has no name, and stays with the sort of the statement until another one comes.
--
-- process: query LIKE '%OFFSET 999999%' AND state = 'idle in transaction'
-- passing: yes
-- suspect: none
-- says: The result of a statement that began at .* is still open, and holds
-- says: of that is for sorts. work_mem allows 600 MB
-- says: COMMIT or ROLLBACK frees this, and often the session's next statement
-- says: Statement of the open result: SELECT g FROM generate_series
-- never: CLOSE
-- never: running statement
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
\setenv PGHOST :HOST
\setenv PGDATABASE :DBNAME
\! printf '%s\n' "SET work_mem = '600MB';" 'BEGIN;' 'SELECT g FROM generate_series(1, 1000000) g ORDER BY md5(g::text) OFFSET 999999;' '\sleep 1800 s' | pgbench --no-vacuum --protocol=extended --transactions=1 --file=- >/dev/null 2>&1 &
SELECT pg_sleep(3600);
