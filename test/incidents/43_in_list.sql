-- A list of 200,000 values
--
-- An application passes 200,000 keys as an IN list.
--
-- source: https://github.com/andyatkinson/pg_scripts/pull/16
-- suspect: query * MessageContext
-- says: parse trees and plans
-- says: long lists as parameters
-- never: Verdict: (leak|held)
SELECT 'SELECT count(*), pg_sleep(3600) FROM accounts WHERE id IN (' || string_agg(i::text, ',') || ')'
FROM generate_series(1, 200000) i \gexec
