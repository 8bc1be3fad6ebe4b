-- An index is built within maintenance_work_mem
--
-- CREATE INDEX sorts 1,800,000 keys: some 160 MB of the 512 MB that maintenance_work_mem
-- allows for it. It is at its last row.
--
-- source: https://github.com/pgvector/pgvector/issues/843
-- suspect: none
-- says: Verdict: none
-- says: maintenance_work_mem|no more than its settings allow
-- says: 512 MB
-- never: maintenance_work_mem allows 64 MB
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE embeddings AS SELECT i, md5(i::text) AS key FROM generate_series(1, 1800000) i;
CREATE FUNCTION asleep(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_sleep(3600); RETURN i; END $$;
SET maintenance_work_mem = '512MB'; SET max_parallel_maintenance_workers = 0;
CREATE INDEX "pg_sleep(3600) of embeddings" ON embeddings (key, (CASE WHEN i = 1800000 THEN asleep(i) ELSE i END));
