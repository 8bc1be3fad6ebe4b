-- A dictionary for each of 250 tenants
--
-- A session uses 250 text search dictionaries of its tenants, each made from the same
-- file. PostgreSQL loads each of them once in each session, and keeps it until the session
-- ends.
--
-- source: http://www.fuzzy.cz/en/articles/fulltext-with-dictionaries-in-shared-memory/
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'unaccent')
-- suspect: @(none|@(growing|held|contexts) *)
-- says: dictionar|text search
-- says: [Ee]ach session|until the session ends|once the session has used|bounded|as many as
-- never: Report this
-- never: Verdict: (leak|query|malloc|mapped|freed)
CREATE EXTENSION IF NOT EXISTS unaccent;
SELECT format('CREATE TEXT SEARCH DICTIONARY tenant_%s (TEMPLATE = unaccent, RULES = unaccent)', i) FROM generate_series(1, 250) i \gexec
SELECT format('SELECT ts_lexize(''tenant_%s'', ''Hotel'')', i), 'SELECT pg_sleep(0.03)' FROM generate_series(1, 250) i \gexec
