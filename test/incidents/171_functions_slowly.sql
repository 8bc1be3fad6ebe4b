-- Functions that are dropped, slowly
--
-- A session creates a function in pg_temp, calls and drops it, some 60 times a second. Before
-- that is a finding, what grows is told by what was counted.
--
-- suspect: none
-- says: compiled functions and their plans
-- says: Verdict: none( yet\. It has grown, but compiled functions and their plans are judged only from 48 MB on.*Most of its growth went to compiled functions and their plans|\. Nothing keeps growing)
-- never: Finer samples
-- never: not for long enough to tell why
-- never: Ask again to see
SET client_min_messages = warning;
CREATE TEMP TABLE visitors (id serial PRIMARY KEY, name text UNIQUE);
SELECT format('CREATE FUNCTION pg_temp.add_visitor() RETURNS int LANGUAGE plpgsql AS $f$ DECLARE done int;
    BEGIN INSERT INTO visitors (name) VALUES (''visitor %s'') RETURNING id INTO done; RETURN done; EXCEPTION WHEN unique_violation THEN RETURN -1; END $f$;', i),
    'SELECT pg_temp.add_visitor(), pg_sleep(0.012);', 'DROP FUNCTION pg_temp.add_visitor();'
FROM generate_series(1, 700) i \gexec
SELECT pg_sleep(3600);
