-- An open cursor with a large sort
--
-- A transaction opens a cursor whose sort needs 400 MB, as work_mem allows, reads one row
-- of it, and waits. No statement runs.
--
-- rests: idle in transaction
-- passing: yes
-- suspect: none
-- says: Cursor "c", opened at
-- says: of that is for sorts. work_mem allows 600 MB
-- says: The transaction has been idle since
-- says: This is no leak. CLOSE, COMMIT or ROLLBACK frees this
-- says: idle_in_transaction_session_timeout
-- says: Statement of the open cursor: DECLARE c CURSOR
-- never: running statement
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '600MB';
BEGIN;
DECLARE c CURSOR FOR SELECT g, md5(g::text) m, repeat('y', 60) FROM generate_series(1, 2000000) g ORDER BY m;
FETCH 1 FROM c;
