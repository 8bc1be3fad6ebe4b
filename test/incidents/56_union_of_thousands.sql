-- A statement that a program writes
--
-- A program has written a statement of 1,500 parts with UNION ALL, each of which joins
-- two tables. To plan it takes some 100 MB, which stay while it is executed.
--
-- source: https://lastdba.com/en/2024/08/12/analyzing-a-5mb-sql-that-consumed-70gb-of-memory/
-- suspect: query - MessageContext
-- says: Verdict: query \(the running statement or transaction\)
-- says: parse trees and plans
-- says: no call site has more than [0-9]+% of it
-- says: Besides, [0-9]+ MB is held for the executor
-- says: Make the statement shorter: split it
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed)
SELECT 'SELECT 1 FROM pg_sleep(3600) UNION ALL ' || string_agg(format('SELECT a.id + b.branch + %s FROM accounts a JOIN accounts b USING (id) WHERE a.branch = %s AND b.balance > %s', i, i, i), ' UNION ALL ')
    AS text FROM generate_series(1, 1500) i \gset
:text;
