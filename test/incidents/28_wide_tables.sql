-- The relation cache of 800 wide tables
--
-- A session of a pool reads 800 tables of 150 columns in as many schemas of its
-- customers, and PostgreSQL keeps what it has learned of each: some 35 MB.
--
-- read: first
-- source: https://github.com/pgbouncer/pgbouncer/pull/286
-- suspect: @(none|growing *)
-- says: cache
-- says: Verdict: none|This is no leak\.
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed)
-- never: Report this
-- never: statistics of columns
DO $$ DECLARE columns text; BEGIN
    SELECT string_agg('column_' || i || ' int', ',') INTO columns FROM generate_series(1, 150) i;
    CREATE SCHEMA wide;
    FOR i IN 1 .. 800 LOOP EXECUTE format('CREATE TABLE wide.table_%s (%s)', i, columns); IF i % 50 = 0 THEN COMMIT; END IF; END LOOP; END $$;
SELECT format('SELECT count(*) FROM wide.table_%s WHERE column_3 = 4;', i % 800 + 1) FROM generate_series(1, 1600) i \gexec
