-- A session that listens to 20,000 channels
--
-- A session listens to 20,000 channels, one for each user: some 2 MB.
--
-- source: https://github.com/andywer/pg-listen/pull/44
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT format('LISTEN user_%s', i) FROM generate_series(1, 20000) i \gexec
