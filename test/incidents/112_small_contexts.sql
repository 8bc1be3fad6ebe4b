-- 20,000 small contexts that nobody deletes
--
-- A statement makes 20,000 contexts of the session: 20 MB, with nothing in them.
--
-- suspect: @(held|contexts) - kept context
-- says: 20000 contexts
-- says: Search the sources of the extensions that this session uses for "kept context"
-- never: Verdict: (none|leak|query)
SELECT hold_contexts(20000);
SELECT pg_sleep(3600);
