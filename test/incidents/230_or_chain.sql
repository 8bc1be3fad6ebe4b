-- A filter of 60,000 conditions
--
-- A program writes a filter of 60,000 pairs of conditions that are joined by OR, on an
-- empty table. Its parse tree, and what the planner makes of it, stay while it runs.
--
-- source: https://github.com/HeliosSoftware/hfs/issues/1413
-- suspect: query * MessageContext
-- says: parse trees and plans
-- says: Make the statement shorter|as parameters?|VALUES|join
-- says: The memory is freed when the statement ends
-- never: aggregate or trigger
-- never: A single value or text
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE observations (a int, b int);
SET jit = off;
SELECT 'SELECT pg_sleep(3600), count(*) FROM observations WHERE ' || string_agg(format('(a = %s AND b = %s)', i, i), ' OR ') FROM generate_series(1, 60000) i \gexec
