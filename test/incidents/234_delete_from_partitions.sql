-- DELETE from 600 partitions
--
-- A DELETE joins a table of 600 partitions with a list, so that no partition is left out.
-- The planner and the executor keep what they need of each partition while it runs.
--
-- source: https://github.com/timescale/timescaledb/issues/2486
-- suspect: ?(growing *)query *
-- says: partition
-- says: [Pp]lanner|[Pp]lanning|parse trees and plans
-- says: The memory is freed when the statement ends
-- never: larger than the planner expected
-- never: aggregate or trigger
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed)
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE samples (at int, meta int, ' || string_agg('c_' || i || ' int', ', ') || ') PARTITION BY RANGE (at)' FROM generate_series(1, 150) i); END $$;
SELECT format('CREATE TABLE samples_%s PARTITION OF samples FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 599) i \gexec
CREATE INDEX ON samples (meta);
WITH gone AS (DELETE FROM samples USING (SELECT i AS meta FROM generate_series(1, 10) i) d WHERE samples.meta = d.meta RETURNING samples.*)
SELECT count(*), pg_sleep(3600) FROM gone;
