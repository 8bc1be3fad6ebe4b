-- A fine interval
--
-- At an interval of 16 kB a session reads all of the catalog, as pg_dump does. Its
-- caches fill.
--
-- suspect: @(none|growing *)
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed)
-- never: Report this
SET pg_leakhunt.sample_interval = '16kB';
SELECT format('SELECT pg_get_viewdef(%s), pg_describe_object(1259, %s, 0), pg_get_constraintdef((SELECT min(oid) FROM pg_constraint));', oid, oid)
FROM pg_class WHERE relkind = 'v' \gexec
SELECT format('SELECT pg_get_functiondef(%s);', oid) FROM pg_proc WHERE prokind = 'f' LIMIT 1500 \gexec
