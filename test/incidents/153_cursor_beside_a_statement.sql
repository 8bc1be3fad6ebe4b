-- A statement that runs beside a cursor that holds much
--
-- A transaction has read a row of a cursor with a large sort, and waits for a lock, or
-- sleeps, in another statement. That holds nothing.
--
-- passing: yes
-- suspect: none
-- says: Cursor "large", opened at
-- says: CLOSE, COMMIT or ROLLBACK frees this
-- never: running statement.s
-- never: idle in transaction
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '600MB';
BEGIN;
DECLARE large CURSOR FOR SELECT g, md5(g::text) m, repeat('y', 60) FROM generate_series(1, 1000000) g ORDER BY m;
FETCH 1 FROM large;
SELECT pg_sleep(3600);
