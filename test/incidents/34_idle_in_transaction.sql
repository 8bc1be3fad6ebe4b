-- Idle in transaction after a large statement
--
-- A statement needs 98 MB and ends. Its transaction stays open, and runs no other
-- statement.
--
-- rests: idle in transaction
-- passing: yes
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
-- never: Samples stand for
BEGIN;
SELECT length(string_agg(md5(i::text), '')) FROM generate_series(1, 1500000) i;
