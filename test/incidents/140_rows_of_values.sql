-- After an INSERT of very many rows
--
-- An application has inserted 300,000 rows with one VALUES list.
--
-- rests: idle
-- passing: yes
-- suspect: @(none|freed *)
-- says: Verdict: (none|freed)
-- never: hash table|Verdict: (leak|held|query|contexts|malloc|mapped|growing)
CREATE TEMP TABLE loaded (i int, t text);
SELECT 'INSERT INTO loaded VALUES ' || string_agg(format('(%s, %L)', i, i), ',') FROM generate_series(1, 300000) i \gexec
