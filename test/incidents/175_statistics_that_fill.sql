-- Statistics of many columns, still being read
--
-- A session plans a statement on another of 1,300 columns ten times a second. The statistics
-- target of each is 2,000, and the session keeps what it has read of each. Autovacuum is off:
-- it would analyze them with a smaller target meanwhile, and have the session read them anew.
--
-- suspect: growing * CacheMemoryContext
-- says: Verdict: growing \(CacheMemoryContext and other caches\)
-- says: This is no leak
-- says: Most of what was sampled in it is statistics of columns, which the planner has read
-- says: column's statistics target limits their size
-- says: ALTER COLUMN \.\.\. SET STATISTICS
-- never: none yet
-- never: Finer samples
-- never: Report this
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|none)
SET default_statistics_target = 2000;
DO $$ DECLARE columns text; entries text; BEGIN
    SELECT string_agg('c' || i || ' text', ','), string_agg('md5((g + ' || i || ')::text)', ',') INTO columns, entries FROM generate_series(1, 100) i;
    FOR t IN 1 .. 13 LOOP
        EXECUTE format('CREATE TABLE surveyed%s (%s) WITH (autovacuum_enabled = off)', t, columns);
        EXECUTE format('INSERT INTO surveyed%s SELECT %s FROM generate_series(1, 2400) g', t, entries);
        EXECUTE format('ANALYZE surveyed%s', t);
        COMMIT;
    END LOOP;
END $$;
\c
DO $$ BEGIN /* pg_sleep(3600) */ FOR t IN 1 .. 13 LOOP FOR c IN 1 .. 100 LOOP
    EXECUTE format('EXPLAIN SELECT 1 FROM surveyed%s WHERE c%s > ''a5''', t, c);
    COMMIT;
    PERFORM pg_sleep(0.1);
    END LOOP; END LOOP; END $$;
