-- A session that listens
--
-- A session listens, and is notified 2,000 times.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
LISTEN jobs;
SELECT format('NOTIFY jobs, ''%s''', i) FROM generate_series(1, 2000) i \gexec
