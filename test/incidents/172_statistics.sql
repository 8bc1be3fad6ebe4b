-- Statistics of many columns
--
-- A session plans statements on 1,300 columns whose statistics target is 1,000. It keeps what it
-- has read of each.
--
-- suspect: none
-- passing: yes
-- says: Most of what was sampled in it is statistics of columns, which the planner has read
-- says: ALTER COLUMN \.\.\. SET STATISTICS
-- never: none yet
-- never: Finer samples
SET default_statistics_target = 1000;
DO $$ DECLARE columns text; entries text; BEGIN
    SELECT string_agg('c' || i || ' text', ','), string_agg('md5((g + ' || i || ')::text)', ',') INTO columns, entries FROM generate_series(1, 100) i;
    FOR t IN 1 .. 13 LOOP
        EXECUTE format('CREATE TABLE measured%s (%s)', t, columns);
        EXECUTE format('INSERT INTO measured%s SELECT %s FROM generate_series(1, 1200) g', t, entries);
        EXECUTE format('ANALYZE measured%s', t);
        COMMIT;
    END LOOP;
END $$;
\c
SELECT format('EXPLAIN SELECT 1 FROM measured%s WHERE c%s > ''a5'';', t, c) FROM generate_series(1, 13) t, generate_series(1, 100) c \gexec
SELECT pg_sleep(3600);
