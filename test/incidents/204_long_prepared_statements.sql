-- A few prepared statements, each very long
--
-- A driver caches 250 prepared statements of an ORM, each with a list of 3,000
-- parameters: some 500 kB for each, and it deallocates none.
--
-- source: https://github.com/MagicStack/asyncpg/issues/115
-- suspect: @(contexts|held|growing) * CachedPlan*
-- says: prepared statements
-- says: PREPARE orm_[0-9]+
-- says: DEALLOCATE|deallocat
-- never: Report this
-- never: force_custom_plan
-- never: Verdict: (leak|query|none|malloc|mapped|freed)
SELECT format('PREPARE orm_%s AS SELECT id, balance + %s FROM accounts WHERE id IN (', i, i) || string_agg('$' || j, ',') || ');', 'SELECT pg_sleep(0.02);'
FROM generate_series(1, 250) i, generate_series(1, 3000) j GROUP BY i \gexec
