-- Perl's texts, among innocent statements, and malloc by call site
--
-- A client runs 600 short statements: every third calls a function in PL/Perl that
-- appends a text to %_SHARED. pg_leakhunt_malloc.so is preloaded into the server, so
-- the statement is known.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- preloaded: pg_leakhunt_malloc.so
-- suspect: malloc * [[]malloc]
-- says: Allocated by (the statement|statements of this form): SELECT remember_text\(300\);
-- figure: 60000000 sampled memory\.
-- never: Allocated by (the statement|statements of this form): SELECT (count|sum)
-- never: Verdict: (leak|held|query)
SELECT 'SELECT count(*) FROM accounts;', 'SELECT remember_text(300);', 'SELECT sum(i), md5(repeat(''x'', 300000)) FROM generate_series(1, 30000) i;', 'SELECT pg_sleep(0.03);' FROM generate_series(1, 200) \gexec
SELECT pg_sleep(3600);
