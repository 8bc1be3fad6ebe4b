BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SELECT expect(sum(aid), 5000050000, 'sum of a parallel scan') FROM pgbench_accounts WHERE aid <= 100000;
SELECT expect(count(*), 5000, 'rows of a parallel join')
    FROM pgbench_accounts a JOIN pgbench_accounts b USING (aid)
    WHERE a.aid % 20 = 0 AND a.aid <= 100000;
COMMIT;
