-- Page tables of many sessions
--
-- 90 sessions have read the same table of 230 MB in shared buffers. None of them has
-- more than a few megabytes, but the kernel keeps page tables for each.
--
-- sessions: 90
-- asked: of all
-- needs: current_setting('huge_pages_status', true) IS DISTINCT FROM 'on'
-- suspect: none
-- says: Page tables of its processes take (3[0-9]|[4-7][0-9]) MB\. Most of that is for shared memory, such as buffers
-- says: set vm\.nr_hugepages to [0-9]+ or more and huge_pages to on
-- says: Shared memory of the server: (2[3-9][0-9]|3[0-9][0-9]) MB of the 384 MB that shared_buffers allows
-- says: (control group uses|The machine uses) [0-9]+ [MG]B.*of private memory, [0-9]+ [MG]B of shared memory
-- never: none of these\. .*none of these
SELECT pg_advisory_lock(170);
CREATE UNLOGGED TABLE IF NOT EXISTS read_by_all (filler text);
ALTER TABLE read_by_all ALTER filler SET STORAGE PLAIN;
INSERT INTO read_by_all SELECT repeat('x', 7000) FROM generate_series(1, 29440) WHERE NOT EXISTS (SELECT FROM read_by_all);
SELECT pg_advisory_unlock(170);
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM read_by_all;
SELECT pg_sleep(3600);
