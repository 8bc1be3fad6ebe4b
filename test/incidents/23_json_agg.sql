-- All rows in one JSON value
--
-- A statement puts 600,000 rows into one JSON value, whose buffer doubles.
--
-- source: https://github.com/prest/prest/issues/730
-- suspect: query * ExprContext
-- says: Verdict: query
-- says: work_mem does not limit
-- says: The memory is freed (when|at)
-- says: Statement that holds most: SELECT length\(json_agg
-- never: Verdict: (leak|held)
SELECT length(json_agg(s)::text), pg_sleep(3600)
FROM (SELECT i AS id, now() AS at, md5(i::text) AS sensor FROM generate_series(1, 600000) i) s;
