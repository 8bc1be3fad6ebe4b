-- ANALYZE of a narrow table
--
-- ANALYZE of 100,000 narrow rows with the default statistics target: its sample is small.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE FUNCTION pg_temp.slow(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM pg_sleep(CASE WHEN $1 = 77 AND current_setting('slow.rows', true) = 'on' THEN 3600 ELSE 0 END); RETURN $1; END $$;
CREATE TEMP TABLE narrow (id int, text text);
INSERT INTO narrow SELECT i, 'text' FROM generate_series(1, 29000) i;
CREATE INDEX ON narrow (pg_temp.slow(id)) WHERE id < 200;
SET slow.rows = on;
ANALYZE /* pg_sleep(3600) */ narrow;
