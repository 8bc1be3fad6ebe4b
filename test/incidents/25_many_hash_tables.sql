-- 48 hash tables, each within its limit
--
-- A partitionwise join of 48 partitions has as many hash tables of some 1 MB, where 2 are
-- allowed: work_mem is 1 MB, and partitionwise joins are turned on.
--
-- suspect: query * Hash*
-- says: Verdict: query
-- says: in [34][0-9] hash tables and sorts, [0-9]+ kB each on average
-- says: Lower work_mem|A lower work_mem helps only if it allows less than [0-9]+ kB
-- never: larger than the planner expected
CREATE TABLE lefts (k int, v text) PARTITION BY HASH (k);
CREATE TABLE rights (k int, v text) PARTITION BY HASH (k);
SELECT format('CREATE TABLE lefts_%s PARTITION OF lefts FOR VALUES WITH (MODULUS 48, REMAINDER %s)', i, i),
    format('CREATE TABLE rights_%s PARTITION OF rights FOR VALUES WITH (MODULUS 48, REMAINDER %s)', i, i)
FROM generate_series(0, 47) i \gexec
INSERT INTO lefts SELECT i, md5(i::text) FROM generate_series(1, 900000) i;
INSERT INTO rights SELECT i, md5(i::text) FROM generate_series(1, 900000) i;
ANALYZE lefts, rights;
SET work_mem = '1MB'; SET enable_partitionwise_join = on; SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT count(*), pg_sleep(3600) FROM lefts JOIN rights USING (k);
