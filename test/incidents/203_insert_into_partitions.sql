-- One INSERT into 1,000 partitions
--
-- A statement inserts rows into 1,000 partitions of 250 columns, in no order, and returns
-- them. For each partition it keeps what it needs to insert into it until it ends. The
-- session also keeps its cache of the tables, which is no leak.
--
-- source: https://github.com/timescale/timescaledb/issues/643
-- suspect: ?(growing *)query *
-- says: partition|executor
-- says: The memory is freed when the statement ends
-- says: WITH added AS
-- never: larger than the planner expected
-- never: EXPLAIN the statement: a hash table
-- never: aggregate or trigger
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed)
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE measures (dropped int, at int, ' || string_agg('c_' || i || ' int', ', ') || ') PARTITION BY RANGE (at)' FROM generate_series(1, 250) i); END $$;
ALTER TABLE measures DROP COLUMN dropped;
SELECT format('CREATE TABLE measures_%s PARTITION OF measures FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 999) i \gexec
WITH added AS (INSERT INTO measures (at, c_1) SELECT i * 7919 % 1000, i FROM generate_series(1, 2000) i RETURNING *)
SELECT count(*), pg_sleep(3600) FROM added;
