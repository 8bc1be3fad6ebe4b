-- A statement of 60 MB
--
-- An application puts a value of 60 MB into its statement, in one piece.
--
-- source: https://github.com/electric-sql/pglite/issues/779
-- suspect: query * MessageContext
-- says: Verdict: query
-- says: parse trees and plans
-- never: Verdict: (leak|held)
SELECT 'SELECT pg_sleep(3600), length(''' || repeat('x', 60000000) || ''')' \gexec
