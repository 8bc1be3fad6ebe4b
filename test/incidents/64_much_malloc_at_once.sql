-- Much of malloc, at once
--
-- A statement has libxml2 take 200 MB from malloc within a moment.  It still runs, and
-- takes no more.
--
-- needs: leak_by_libxml(1, 1)
-- suspect: malloc - -
-- says: While one statement ran, memory from malloc grew by at least [0-9]+ MB\.
-- says: Allocated by (the statement|statements of this form): DO
-- never: Verdict: (leak|held|query)
SET work_mem = '100MB';
SELECT count(DISTINCT i::text) FROM generate_series(1, 600000) i;
DO $$
BEGIN
    PERFORM pg_sleep(1.2);
    PERFORM count(DISTINCT i::text) FROM generate_series(1, 600000) i;
    PERFORM pg_sleep(1.2);
    PERFORM leak_by_libxml(1000, 200);
    PERFORM count(DISTINCT i::text) FROM generate_series(1, 600000) i;
    PERFORM pg_sleep(3600);
END $$;
