-- Cursors that stay open until the transaction ends
--
-- A driver declares 1,500 cursors in a transaction, reads a row of each, and closes none.
-- Each keeps its plan and the state of its execution. The transaction is idle.
--
-- source: https://github.com/MagicStack/asyncpg/pull/1088
-- rests: idle in transaction
-- suspect: @(contexts|query) *
-- says: 1500 open cursors hold
-- says: CLOSE, COMMIT or ROLLBACK frees this
-- never: WITH HOLD
-- never: EXPLAIN the statement
-- never: running (statement|transaction)
-- never: Verdict: (leak|held|malloc|mapped|freed|none)
CREATE TEMP TABLE parts AS SELECT i AS id, i % 100 AS branch FROM generate_series(1, 1000) i;
ANALYZE parts;
BEGIN;
SELECT format('DECLARE cursor_%s CURSOR FOR SELECT a.id, b.branch FROM parts a JOIN parts b USING (branch) WHERE a.id > %s ORDER BY a.id', i, i % 100), format('FETCH 1 FROM cursor_%s', i)
FROM generate_series(1, 1500) i \gexec
