-- Advisory locks that are never released
--
-- A session of a pool takes the same 500 advisory locks again and again, 500,000 times, and
-- releases none. Taking a lock again only counts it.
--
-- source: https://github.com/timescale/prometheus-postgresql-adapter/pull/99
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT 'SELECT count(pg_try_advisory_lock(233, i % 500)) FROM generate_series(1, 50000) i' FROM generate_series(1, 10) i \gexec
