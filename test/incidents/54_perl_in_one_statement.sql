-- Perl's texts, in one statement
--
-- A single statement calls a function in PL/Perl 150 times.  Each call appends a text of
-- 1 MB to %_SHARED, where it stays until the session ends.  As that statement runs all the
-- time, it is known to be the one.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- suspect: malloc - -
-- says: libperl
-- says: has loaded PL/Perl: see what its functions keep in %_SHARED
-- says: While one statement ran, memory from malloc grew by at least [0-9]+ MB\.
-- says: Allocated by (the statement|statements of this form): DO \$\$ BEGIN FOR i IN 1 \.\. 150
-- says: Cancel the statement to see whether that frees the memory: SELECT pg_cancel_backend
-- never: max lifetime
-- never: Verdict: (leak|held|query)
DO $$
BEGIN
    FOR i IN 1 .. 150 LOOP
        PERFORM remember_text(1000), md5(repeat(i::text, 300000));
        PERFORM pg_sleep(0.07);
    END LOOP;
    PERFORM pg_sleep(3600);
END $$;
