-- An extension keeps some of each statement that is planned
--
-- A hook of the planner keeps the text of each statement, its names and its tables:
-- 25 kB in all, at three places, in TopMemoryContext.
--
-- suspect: leak plan_and_keep TopMemoryContext
-- says: Verdict: leak at [23] call sites of plan_and_keep
-- says: (9[0-9]%|all) of the process' sampled memory
-- says: Report this to the authors of causes\.so
-- never: Verdict: growing
-- never: No single cause
SELECT keep_planned();
SELECT format('SELECT %s AS c%s FROM accounts a WHERE a.id = %s', i, i, i) FROM generate_series(1, 4000) i \gexec
SELECT pg_sleep(3600);
