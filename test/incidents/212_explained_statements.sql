-- auto_explain of 50,000 statements in a loop
--
-- auto_explain explains each of 50,000 statements within a block, which it did with a leak
-- in older releases. In this one nothing stays.
--
-- source: https://github.com/arenadata/gpdb/pull/450
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_level = debug5;
SET auto_explain.log_analyze = on;
SET auto_explain.log_nested_statements = on;
DO $$ DECLARE found int; BEGIN FOR i IN 1 .. 50000 LOOP
    SELECT count(*) INTO found FROM accounts WHERE id = i;
    END LOOP; PERFORM pg_sleep(3600); END $$;
