-- Prepared transactions
--
-- 300 transactions are prepared, and committed.
--
-- needs: current_setting('max_prepared_transactions')::int > 0
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT 'BEGIN;', 'UPDATE accounts SET balance = balance + 1 WHERE id < 50;', format('PREPARE TRANSACTION ''two_%s'';', i), format('COMMIT PREPARED ''two_%s'';', i)
FROM generate_series(1, 300) i \gexec
