-- A session that has read all shared buffers
--
-- A session reads a table of 150 MB into shared buffers. In top, its RES grows by all of
-- shared_buffers, 128 MB, which is no memory of its own.
--
-- source: https://super-unix.com/database/postgresql-checkpoint-process-ram-usage
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm')
-- suspect: none
-- says: Verdict: none
-- says: In top, its RES also includes [12][0-9][0-9] MB of shared memory
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE EXTENSION IF NOT EXISTS pg_prewarm;
CREATE TABLE warm AS SELECT i, repeat('w', 1000) AS t FROM generate_series(1, 135000) i;
SELECT pg_prewarm('warm', 'buffer');
SELECT pg_prewarm('warm', 'buffer');
