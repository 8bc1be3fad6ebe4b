-- A partitionwise join is planned
--
-- A statement joins three tables of 300 partitions each by their partition key, with
-- partitionwise joins turned on. All tables are empty. What the planner has made of each
-- partition and each join of partitions stays while the statement is executed.
--
-- source: https://postgresql.org/message-id/CAExHW5stmOUobE55pMt83r8UxvfCph%2BPvo5dNpdrVCsBgXEzDQ%40mail.gmail.com
-- suspect: query *
-- says: [Pp]lanner|[Pp]lanning|to plan
-- says: SET enable_partitionwise_join = off
-- says: The memory is freed when the statement ends
-- says: pg_cancel_backend
-- never: larger than the planner expected|EXPLAIN the statement: a hash table
-- never: work_mem does not limit what
-- never: aggregate or trigger
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE joined (id int PRIMARY KEY, k int, v text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE joined_%s PARTITION OF joined FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 299) i \gexec
SET enable_partitionwise_join = on;
SELECT count(*), pg_sleep(3600) FROM joined a JOIN joined b USING (id) JOIN joined c USING (id) JOIN joined d USING (id);
