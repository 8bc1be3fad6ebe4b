-- Record types without a name
--
-- A session makes 6,000 record types of 100 columns: each stays until it ends.
--
-- suspect: @(leak|held) assign_record_type_typmod CacheMemoryContext
-- says: Next: Use the same column names
-- never: Verdict: (none|growing|query|contexts|malloc)
-- never: This is no leak
-- never: Report this
DO $$ BEGIN FOR i IN 1 .. 6000 LOOP
    EXECUTE (SELECT 'SELECT r FROM (SELECT ' || string_agg('1 AS c_' || i || '_' || j, ',') || ') r' FROM generate_series(1, 100) j);
    IF i % 20 = 0 THEN COMMIT; END IF; END LOOP; END $$;
