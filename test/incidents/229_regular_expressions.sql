-- 30 large regular expressions
--
-- A session matches 30 regular expressions of 500 words each, again and again. PostgreSQL
-- keeps the last 32 regular expressions as it has compiled them, by malloc until release
-- 15, and no more than that.
--
-- source: https://github.com/timescale/promscale_extension/pull/362
-- needs: current_setting('server_version_num')::int < 160000
-- suspect: @(none|malloc - -)
-- says: outside of memory contexts
-- says: regular expression
-- never: Verdict: (leak|held|query|contexts|mapped|growing)
CREATE TABLE patterns AS SELECT p, '^(' || string_agg('word' || p || '_' || i || '[0-9]{1,9}', '|') || ')$' AS pattern FROM generate_series(1, 30) p, generate_series(1, 500) i GROUP BY p;
SELECT format('SELECT count(*) FROM patterns WHERE ''word'' ~ pattern AND p BETWEEN %s AND %s;', i, i + 4), 'SELECT pg_sleep(0.2);' FROM generate_series(1, 26, 5) i \gexec
SELECT 'SELECT count(*) FROM patterns WHERE ''word'' ~ pattern;', 'SELECT pg_sleep(0.1);' FROM generate_series(1, 30) i \gexec
