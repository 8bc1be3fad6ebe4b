-- 20,000 small contexts that nobody deletes
--
-- A statement makes 20,000 contexts of the session of 1 kB each, with nothing in them.
--
-- suspect: @(held|contexts) - *
-- says: 20000 contexts
-- says: code there creates contexts of that name, and never deletes them
-- never: Verdict: (none|leak|query)
SELECT leak_empty_contexts(20000);
SELECT pg_sleep(3600);
