-- A cursor that a function returns, and nobody closes
--
-- A function opens a cursor and returns its name. The client reads one row of its sort,
-- and its transaction waits.
--
-- rests: idle in transaction
-- passing: yes
-- suspect: none
-- says: Cursor "<unnamed portal 1>", opened at
-- says: of that is for sorts
-- says: CLOSE, COMMIT or ROLLBACK frees this
-- never: running statement
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '600MB';
CREATE FUNCTION pg_temp.opened() RETURNS refcursor LANGUAGE plpgsql AS $$
DECLARE
	opened refcursor;
BEGIN
	OPEN opened FOR SELECT g, md5(g::text) AS m FROM generate_series(1, 1500000) g ORDER BY 2;
	RETURN opened;
END $$;
BEGIN;
SELECT pg_temp.opened();
FETCH 1 FROM "<unnamed portal 1>";
