-- A function in an index keeps memory while the index is built
--
-- CREATE INDEX calls a function for each of 120,000 rows, which keeps a kilobyte for the
-- session each time: 120 MB. The index is not finished yet, and maintenance_work_mem
-- does not limit what functions keep.
--
-- source: https://github.com/timescale/pgvectorscale/issues/227
-- suspect: @(leak|held|growing) leaking_in CacheMemoryContext
-- says: leaking_in \(leaker\.c:[0-9]+\) in CacheMemoryContext
-- says: (Allocated by the statement|Allocated by statements of this form|Statement that holds most): CREATE INDEX
-- says: keyed
-- says: until the session ends|stays|It is not freed when the statement ends
-- never: This is no leak
-- never: no more than its settings allow
-- never: Verdict: (query|contexts|malloc|mapped|freed|none)
CREATE FUNCTION keyed(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM leak_cache(1000, 1); IF i = 120000 THEN PERFORM pg_sleep(3600); END IF; RETURN i; END $$;
CREATE TABLE corpus AS SELECT i FROM generate_series(1, 120000) i;
SET max_parallel_maintenance_workers = 0;
CREATE INDEX "pg_sleep(3600) of corpus" ON corpus (keyed(i));
