-- Perl's texts, among innocent statements
--
-- A client runs 600 short statements: every third calls a function in PL/Perl that appends a
-- text of 800 kB to %_SHARED, and the others keep nothing.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- suspect: malloc - -
-- says: libperl
-- says: It is not known which statement allocated this\.
-- says: pg_leakhunt_check
-- never: Allocated by (the statement|statements)
-- never: Verdict: (leak|held|query)
SELECT 'SELECT count(*) FROM accounts;', 'SELECT remember_text(800);', 'SELECT sum(i), md5(repeat(''x'', 300000)) FROM generate_series(1, 30000) i;', 'SELECT pg_sleep(0.03);' FROM generate_series(1, 200) \gexec
SELECT pg_sleep(3600);
