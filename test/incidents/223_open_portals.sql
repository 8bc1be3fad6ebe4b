-- Cursors that stay open until the transaction ends
--
-- A driver declares 1,500 cursors in a transaction, reads a row of each, and closes none.
-- Each keeps its plan and the state of its execution. The transaction is idle.
--
-- source: https://github.com/MagicStack/asyncpg/pull/1088
-- rests: idle in transaction
-- suspect: @(contexts|query) *
-- says: cursor
-- says: CLOSE|[Cc]lose
-- says: COMMIT or ROLLBACK|[Cc]ommit
-- never: WITH HOLD
-- never: EXPLAIN the statement
-- never: Verdict: (leak|held|malloc|mapped|freed|none)
BEGIN;
SELECT format('DECLARE cursor_%s CURSOR FOR SELECT a.id, b.balance FROM accounts a JOIN accounts b USING (branch) WHERE a.id > %s ORDER BY a.id', i, i), format('FETCH 1 FROM cursor_%s', i)
FROM generate_series(1, 1500) i \gexec
