-- A list of keys, and many partitions
--
-- An UPDATE has a list of 3,000 values for a column that is not the partition key, over a
-- table of 200 partitions. The planner estimates each value for each partition, and keeps
-- what that takes until the statement ends.
--
-- source: https://github.com/timescale/timescaledb/issues/3862
-- suspect: query *
-- says: parse trees and plans|[Pp]lanner|[Pp]lanning|to plan
-- says: partition|long lists|parameter|fewer values
-- says: The memory is freed when the statement ends
-- says: WITH asleep AS
-- never: aggregate or trigger
-- never: larger than the planner expected
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE outputs (at int, device int, note text) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE outputs_%s PARTITION OF outputs FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 199) i \gexec
SELECT 'WITH asleep AS (SELECT pg_sleep(3600)::text AS t), changed AS (UPDATE outputs SET note = ''x'' WHERE device IN (' || string_agg(i::text, ',') || ') RETURNING 1) SELECT t FROM asleep'
FROM generate_series(1, 3000) i \gexec
