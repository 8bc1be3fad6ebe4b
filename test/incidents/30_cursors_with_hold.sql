-- Cursors that are held, and never closed
--
-- A driver declares 100 cursors WITH HOLD, of 2 MB each, and closes none.
--
-- suspect: @(contexts|held) [!-]* PortalHoldContext
-- says: rows of cursors WITH HOLD
-- says: CLOSE the cursors
-- never: Verdict: (leak|query)
CREATE TEMP TABLE pages AS SELECT i, repeat('x', 500) AS body FROM generate_series(1, 2000) i;
SELECT format('DECLARE c%s CURSOR WITH HOLD FOR SELECT * FROM pages', i), CASE WHEN i % 10 = 0 THEN 'SELECT pg_sleep(0.2)' END
FROM generate_series(1, 100) i \gexec
