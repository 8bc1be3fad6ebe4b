-- A round of a session that others cancel, start and stop: errors of all kinds,
-- outside and inside transactions, and statements of which each is another one.
BEGIN;
SELECT leak_in_transaction(100, 20);
SAVEPOINT one;
SELECT leak_in_transaction(100, 20), 1 / 0;
ROLLBACK TO one;
DECLARE open CURSOR FOR SELECT * FROM pgbench_accounts;
FETCH 100 FROM open;
SELECT 1 / 0;
SELECT 'not run';
ROLLBACK;
SELECT * FROM no_such_table;
INSERT INTO parents VALUES (1);
SELECT refused_allocation(1::bigint << 46);
SELECT garbage_size(-1);
SET statement_timeout = 200;
SELECT count(*) FROM generate_series(1, 1000000000);
SELECT * FROM pgbench_accounts a, pgbench_accounts b ORDER BY a.filler, b.filler;
RESET statement_timeout;
SELECT pg_sleep(0.2);
CALL make_and_drop_table();
\ir leaks.sql
\ir freed.sql
SELECT format('SELECT leak_top(10, 1) /* %s */', random()) FROM generate_series(1, 20) \gexec
