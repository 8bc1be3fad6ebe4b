-- Cursors that are closed
--
-- A driver declares 200 cursors WITH HOLD, and closes each.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TEMP TABLE read AS SELECT i, repeat('x', 500) AS body FROM generate_series(1, 2000) i;
SELECT format('DECLARE c%s CURSOR WITH HOLD FOR SELECT * FROM read;', i), format('FETCH 10 FROM c%s;', i), format('CLOSE c%s;', i)
FROM generate_series(1, 200) i \gexec
