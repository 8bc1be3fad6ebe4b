-- An array of all keys
--
-- A report collects 10,000,000 keys in an array.
--
-- source: https://github.com/greenplum-db/gpdb/issues/833
-- suspect: query array_agg_transfn ExprContext
-- says: Verdict: query
-- says: work_mem does not limit
-- never: Verdict: (leak|held)
SELECT cardinality(array_agg(i)), pg_sleep(3600) FROM generate_series(1, 10000000) i;
