-- 1,000 temporary tables in one transaction
--
-- A block creates a temporary table with an index, fills, alters and drops it, 1,000
-- times, in one transaction. What PostgreSQL keeps of each until the transaction ends
-- makes some 30 MB, most of it in its caches.
--
-- source: https://github.com/GreengageDB/greengage/pull/451
-- suspect: @(none|growing *)
-- says: cache|catalog
-- never: Report this
-- never: Verdict: (leak|held|malloc|mapped|freed)
DO $$ BEGIN FOR i IN 1 .. 1000 LOOP
    EXECUTE format('CREATE TEMP TABLE temporary_%s (a int, b int, c timestamp DEFAULT now())', i);
    EXECUTE format('INSERT INTO temporary_%s (a, b) SELECT g, g FROM generate_series(1, 50) g', i);
    EXECUTE format('CREATE INDEX ON temporary_%s (a)', i);
    EXECUTE format('ALTER TABLE temporary_%s ADD COLUMN d int DEFAULT 0', i);
    EXECUTE format('DROP TABLE temporary_%s', i);
    END LOOP; PERFORM pg_sleep(3600); END $$;
