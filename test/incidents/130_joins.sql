-- A join of many tables, planned by exhaustive search
--
-- A reporting tool raises join_collapse_limit and joins 12 tables: what the planner
-- considers stays while the statement runs.
--
-- source: https://www.postgresql.org/message-id/flat/20160506144425.10246.16690%40wrigleys.postgresql.org
-- suspect: query * MessageContext
-- says: allocated for planning joins\. The planner keeps
-- says: Lower join_collapse_limit, which is 20, .* SET geqo = on
-- never: executor|trigger|work_mem|Verdict: (leak|held|none)
SELECT format('CREATE TEMP TABLE joined_%s AS SELECT g id, g %% 7 k FROM generate_series(1, 10) g', i),
    format('CREATE INDEX ON joined_%s (id)', i), format('CREATE INDEX ON joined_%s (k)', i)
FROM generate_series(1, 12) i \gexec
SET join_collapse_limit = 20;
SET from_collapse_limit = 20;
SET geqo = off;
SELECT 'SELECT count(*), pg_sleep(3600) FROM ' || string_agg('joined_' || i, ', ') || ' WHERE ' ||
    string_agg(format('joined_%s.id = joined_%s.id', i - 1, i), ' AND ') FILTER (WHERE i > 1)
FROM generate_series(1, 12) i \gexec
