-- A session at rest, with thousands of prepared statements
--
-- It prepares 4,000 joins within seconds, and runs each of them often enough for a generic
-- plan. What it has is counted when it is asked about, however long that takes.
--
-- rests: idle
-- passing: yes
-- suspect: * - *
-- says: It has [0-9]{3} MB in memory contexts
-- never: The last count|When it last counted
CREATE TEMPORARY TABLE prepared (id int, a text, b text);
SELECT format('PREPARE p%s AS SELECT o.*, p.a AS c, q.b AS d FROM prepared o JOIN prepared p ON o.id = p.id LEFT JOIN prepared q ON q.id = p.id WHERE o.a LIKE %L AND p.b = $1 ORDER BY o.b', g, 'x' || g)
FROM generate_series(1, 4000) g
\gexec
SELECT format('EXECUTE p%s(%L)', g, 'b') FROM generate_series(1, 4000) g, generate_series(1, 6) i
\gexec
