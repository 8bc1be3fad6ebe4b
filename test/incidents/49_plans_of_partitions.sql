-- Prepared statements over partitions
--
-- A pool prepares 320 statements over 200 partitions, and keeps a generic plan of each
-- (plan_cache_mode is force_generic_plan).
--
-- source: https://pganalyze.com/blog/5mins-postgres-high-memory-usage-prepared-statements
-- suspect: @(held|contexts|growing) * Cached*
-- says: prepared statements
-- says: force_custom_plan
-- never: Verdict: (leak|none)
CREATE TABLE logs (at int, message text) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE logs_%s PARTITION OF logs FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 199) i \gexec
SET plan_cache_mode = force_generic_plan;
SELECT format('PREPARE find_%s AS SELECT count(*), max(message || ''%s'') FROM logs WHERE at > $1;', i, i),
    format('EXECUTE find_%s(%s);', i, i) FROM generate_series(1, 320) i \gexec
