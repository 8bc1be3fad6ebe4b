-- A cursor that is scrolled
--
-- A transaction sorts 500,000 rows for a cursor, and reads its last and its first.
--
-- rests: idle in transaction
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i, md5(i::text) FROM generate_series(1, 500000) i ORDER BY 2;
FETCH LAST FROM c;
FETCH FIRST FROM c;
