-- Hundreds of thousands of locks in one transaction
--
-- A transaction takes 500,000 advisory locks, and waits. The session has an entry for each.
--
-- setting: max_locks_per_transaction = 4200
-- rests: idle in transaction
-- passing: yes
-- suspect: held * LOCALLOCK*
-- says: held \(locks\)
-- says: The session holds 50[0-9]{4} locks now: [0-9]+ on relations, 500000 advisory
-- says: COMMIT or ROLLBACK releases its locks
-- says: max_locks_per_transaction
-- never: Verdict: (leak|query|contexts|malloc|mapped|freed|growing)
BEGIN;
SELECT count(pg_advisory_xact_lock(i)) FROM generate_series(1, 500000) i;
