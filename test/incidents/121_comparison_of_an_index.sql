-- An index built with a comparison that leaks
--
-- The comparison function of an extension's operator class leaves a copy of a value each time. The
-- sort calls it by recursion, at many depths.
--
-- suspect: query compare_and_keep *
-- says: Verdict: query \(the running statement or transaction\)
-- says: [89][0-9]% at compare_and_keep|[0-9]+% of it was allocated in compare_and_keep
-- never: no call site has more than
-- never: Verdict: (leak|held)
CREATE TEMP TABLE compared AS SELECT (random() * 1000000)::int AS i FROM generate_series(1, 150000);
CREATE INDEX ON compared (i kept_ops) /* it sleeps in a comparison, as by pg_sleep(3600) */;
