-- ANALYZE of a wide table with a high statistics target
--
-- The sample of ANALYZE has 300 rows for each unit of the statistics target, and these
-- are wide.
--
-- source: https://www.postgresql.org/message-id/flat/16692-32e11d2e47b68b1d%40postgresql.org
-- suspect: query * Analyze
-- says: rows sampled by ANALYZE\. ANALYZE keeps a sample .* No setting limits its bytes
-- says: Lower the statistics target
-- never: maintenance_work_mem|work_mem|Verdict: (leak|held|none)
CREATE FUNCTION pg_temp.slow(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM pg_sleep(CASE WHEN $1 = 77 AND current_setting('slow.rows', true) = 'on' THEN 3600 ELSE 0 END); RETURN $1; END $$;
CREATE TEMP TABLE wide (id int, text text);
ALTER TABLE wide ALTER COLUMN text SET STORAGE PLAIN;
INSERT INTO wide SELECT i, repeat('x', 1900) FROM generate_series(1, 100000) i;
CREATE INDEX ON wide (pg_temp.slow(id)) WHERE id < 200;
SET slow.rows = on;
SET default_statistics_target = 400;
ANALYZE /* pg_sleep(3600) */ wide;
