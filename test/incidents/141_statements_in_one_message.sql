-- 150,000 statements in one message
--
-- A client sends a script of 150,000 short statements as one message: the parser keeps
-- the trees of all of them.
--
-- source: https://github.com/npgsql/npgsql/issues/1378
-- suspect: query * MessageContext
-- says: allocated for parsing
-- says: Send these statements in smaller pieces
-- never: hash table|Verdict: (leak|held|none)
CREATE TEMP TABLE numbers (i int);
SELECT '/* until pg_sleep(3600) */ ' || string_agg('INSERT INTO numbers VALUES (' || i || ')', ';') || '; SELECT pg_sleep(3600)'
FROM generate_series(1, 150000) i \gexec
