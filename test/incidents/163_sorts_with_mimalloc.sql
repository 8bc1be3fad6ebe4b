-- Sorts whose memory mimalloc keeps
--
-- A session sorts more and more rows, with 1 GB of work_mem, and holds nothing afterwards.
-- Its malloc is that of mimalloc, which does not tell what of its memory is free.
--
-- preloaded: libmimalloc.so.2
-- suspect: none
-- passing: yes
-- says: Verdict: none
-- never: Verdict: malloc
SET work_mem = '1GB';
SELECT format('SELECT count(*) FROM (SELECT i FROM generate_series(1, %s) i ORDER BY -i) s;', i * 150000), 'SELECT pg_sleep(0.3);'
FROM generate_series(1, 15) i \gexec
