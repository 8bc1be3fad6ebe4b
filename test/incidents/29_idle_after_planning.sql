-- Idle after a statement over many partitions
--
-- A statement over 500 partitions needs some 10 MB to be planned. Then the session is
-- idle, and has its caches only.
--
-- rests: idle
-- suspect: none
-- says: Verdict: none
-- never: statements. texts, parse trees and plans
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE parted (a int) PARTITION BY RANGE (a);
SELECT format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 499) i \gexec
SELECT count(*) FROM parted;
