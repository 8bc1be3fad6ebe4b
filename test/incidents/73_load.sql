-- COPY, CREATE INDEX and VACUUM
--
-- A session loads 500,000 rows, builds indexes with 128 MB of maintenance_work_mem,
-- deletes a third and vacuums.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE loaded (i int, t text);
COPY loaded FROM PROGRAM 'seq 1 500000 | sed "s/.*/&,text of &/"' (FORMAT csv);
COPY loaded TO '/dev/null';
SET maintenance_work_mem = '128MB';
CREATE INDEX ON loaded (t);
CREATE INDEX ON loaded USING hash (t);
DELETE FROM loaded WHERE i % 3 = 0;
VACUUM ANALYZE loaded;
VACUUM FULL loaded;
