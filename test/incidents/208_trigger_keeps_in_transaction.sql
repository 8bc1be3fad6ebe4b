-- A function that leaves its values in the transaction
--
-- The trigger function of a library leaves a megabyte for each row in memory that lives as
-- long as the transaction. 200 statements have inserted a row each, and the transaction is
-- idle.
--
-- source: https://github.com/pgcentralfoundation/pgrx/issues/2211
-- rests: idle in transaction
-- suspect: query holding_in TopTransactionContext
-- figure: 208000000 (statement|transaction|,) (holds|has allocated)
-- says: holding_in \(incidents\.c:[0-9]+\) in TopTransactionContext
-- says: freed at COMMIT or ROLLBACK
-- says: incidents
-- never: The memory is freed when the statement ends, or
-- never: EXPLAIN
-- never: Verdict: (leak|held|none|malloc|contexts)
CREATE TABLE kept (i int);
CREATE TRIGGER kept BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION hold_in_trigger();
BEGIN;
SELECT format('INSERT INTO kept VALUES (%s);', i) FROM generate_series(1, 200) i \gexec
