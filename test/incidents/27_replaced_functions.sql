-- Functions that are created, called and dropped
--
-- A session creates a function in pg_temp, calls and drops it, 5,000 times. What was
-- compiled of each, and its plans, stay.
--
-- source: https://github.com/npgsql/npgsql/issues/3902
-- suspect: @(growing|contexts|held|leak) *
-- says: functions
-- says: CREATE OR REPLACE instead of DROP
-- never: Verdict: (none|query|malloc)
-- never: Report this
CREATE TEMP TABLE visitors (id serial PRIMARY KEY, name text UNIQUE);
SELECT format('CREATE FUNCTION pg_temp.add_visitor() RETURNS int LANGUAGE plpgsql AS $f$ DECLARE done int;
    BEGIN INSERT INTO visitors (name) VALUES (''visitor %s'') RETURNING id INTO done; RETURN done; EXCEPTION WHEN unique_violation THEN RETURN -1; END $f$;', i),
    'SELECT pg_temp.add_visitor();', 'DROP FUNCTION pg_temp.add_visitor();'
FROM generate_series(1, 5000) i \gexec
