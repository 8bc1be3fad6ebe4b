-- A notification for each of 600,000 rows
--
-- A transaction sends 600,000 notifications, which wait for its end.
--
-- suspect: query Async_Notify TopTransactionContext
-- says: Statement that holds most: SELECT count\(pg_notify
-- says: Send fewer notifications per transaction
-- never: aggregate or trigger
-- never: Verdict: (leak|held)
BEGIN;
SELECT count(pg_notify('jobs', i || repeat('x', 100))) FROM generate_series(1, 600000) i;
