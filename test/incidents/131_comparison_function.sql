-- An index build whose comparison function leaves copies
--
-- The comparison function of an operator class, in C, does not free what it allocates.
-- The sort of an index build calls it a million times.
--
-- source: https://www.postgresql.org/message-id/flat/17884-cb8c326522977acb%40postgresql.org
-- suspect: query * *
-- says: while an index was built\. maintenance_work_mem allows 64 MB
-- says: functions of incidents\.so, which the index build calls
-- never: hashjoin|EXPLAIN the statement|hash_mem_multiplier|Verdict: (leak|held|none)
CREATE TEMP TABLE keys AS SELECT ((i::bigint * 7919) % 1000003)::int AS key FROM generate_series(1, 300000) i;
CREATE INDEX /* pg_sleep(3600) */ ON keys (key copying_ops);
