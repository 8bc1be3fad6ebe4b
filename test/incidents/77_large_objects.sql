-- Large objects
--
-- A session writes, opens and reads 1,000 large objects.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT count(lo_from_bytea(0, decode(repeat('ab', 10000), 'hex'))) FROM generate_series(1, 1000) i;
BEGIN;
SELECT count(lo_open(oid, 131072)) FROM pg_largeobject_metadata;
COMMIT;
SELECT sum(length(lo_get(oid))) FROM pg_largeobject_metadata;
