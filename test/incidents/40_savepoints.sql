-- A driver's savepoints
--
-- A driver sets a savepoint before each statement of a long transaction, and releases
-- none: 8,000 savepoints make 8,000 subtransactions.
--
-- source: https://github.com/pgjdbc/pgjdbc/issues/1407
-- suspect: contexts * CurTransactionContext
-- says: Verdict: contexts \(subtransactions\)
-- says: SAVEPOINT
-- says: RELEASE savepoints
-- never: Verdict: (leak|held|none)
BEGIN;
CREATE TEMP TABLE lines (i int);
SELECT format('SAVEPOINT s%s;', i), format('INSERT INTO lines VALUES (%s);', i) FROM generate_series(1, 8000) i \gexec
