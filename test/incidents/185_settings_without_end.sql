-- Settings of new names without end
--
-- An application keeps a value of 20 kB in a setting of its own for each request, 50 times a
-- second. Nothing of it is freed.
--
-- suspect: @(malloc|leak) *
-- says: Verdict: (malloc|leak)
-- says: set_config|settings
-- never: newer minor release
-- never: Verdict: (held|query|contexts|mapped|freed|growing|none)
DO $$ DECLARE i int := 0; BEGIN /* pg_sleep(3600) */ LOOP
    PERFORM set_config('app.request_' || i, repeat('x', 20000), false);
    i := i + 1;
    IF i % 5 = 0 THEN PERFORM pg_sleep(0.1); END IF;
    EXIT WHEN i >= 8000;
    END LOOP; PERFORM pg_sleep(3600); END $$;
