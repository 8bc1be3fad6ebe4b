-- NOT IN (SELECT ...) of far more rows than expected
--
-- The planner expects 100 rows of a function, and 500,000 come.
--
-- suspect: query *
-- says: Verdict: query
-- says: rows of NOT IN \(SELECT \.\.\.\)
-- says: ALTER FUNCTION \.\.\. ROWS
-- never: RECURSIVE|EXCEPT
-- never: Verdict: (leak|held)
CREATE FUNCTION many_texts() RETURNS SETOF text LANGUAGE sql ROWS 100
    AS $$ SELECT md5(i::text) || repeat('.', 60) FROM generate_series(1, 500000) i $$;
SELECT count(CASE WHEN id::text NOT IN (SELECT many_texts()) THEN pg_sleep(3600) END) FROM accounts WHERE id < 10;
