-- Four sessions that read 500 partitions
--
-- Each of four sessions of a pool reads a table of 500 partitions with three indexes
-- each, some times. Each session keeps its own cache of all partitions and indexes.
--
-- source: https://github.com/pgpartman/pg_partman/issues/787
-- sessions: 4
-- suspect: @(none|growing *)
-- says: cache
-- says: Verdict: none|This is no leak
-- never: Report this
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed)
SELECT pg_advisory_lock(219);
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE IF NOT EXISTS series (id bigint, device int, note text, at timestamptz, ' || string_agg('c_' || i || ' text', ', ') || ') PARTITION BY RANGE (id)' FROM generate_series(1, 40) i); END $$;
SELECT format('CREATE TABLE IF NOT EXISTS series_%s PARTITION OF series FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 499) i \gexec
CREATE INDEX IF NOT EXISTS series_id ON series (id);
CREATE INDEX IF NOT EXISTS series_device ON series (device, at);
CREATE INDEX IF NOT EXISTS series_note ON series (note);
SELECT pg_advisory_unlock(219);
SELECT format('SELECT count(*), max(note) FROM series WHERE device = %s AND at > now()', i) FROM generate_series(1, 20) i \gexec
