-- Prepared statements that are deallocated
--
-- A driver prepares 3,000 statements, executes and deallocates each.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT format('PREPARE p%s AS SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = $1 AND a.attnum > %s;', i, i),
    format('EXECUTE p%s(1);', i), format('DEALLOCATE p%s;', i) FROM generate_series(1, 3000) i \gexec
