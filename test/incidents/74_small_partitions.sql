-- A partitionwise join within its limits
--
-- A join of 16 partitions has as many hash tables of 128 kB.  Partitionwise joins are turned
-- on.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE few_lefts (k int, v text) PARTITION BY HASH (k);
CREATE TABLE few_rights (k int, v text) PARTITION BY HASH (k);
SELECT format('CREATE TABLE few_lefts_%s PARTITION OF few_lefts FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i),
    format('CREATE TABLE few_rights_%s PARTITION OF few_rights FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i)
FROM generate_series(0, 15) i \gexec
INSERT INTO few_lefts SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
INSERT INTO few_rights SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
ANALYZE few_lefts, few_rights;
SET enable_partitionwise_join = on; SET max_parallel_workers_per_gather = 0;
SELECT count(*), pg_sleep(3600) FROM few_lefts JOIN few_rights USING (k);
