-- Perl's texts, in one statement
--
-- One statement works on 150 long texts, and calls a function in PL/Perl for each, which
-- appends a text of 1 MB to %_SHARED.  It was running while all of that came.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- suspect: malloc - -
-- says: libperl
-- says: has loaded PL/Perl: see what its functions keep in %_SHARED
-- says: While one statement ran, it grew by at least [0-9]+ MB\.
-- says: Allocated by (the statement|statements of this form): DO \$\$ BEGIN FOR i IN 1 \.\. 150
-- never: Verdict: (leak|held|query)
DO $$
BEGIN
    FOR i IN 1 .. 150 LOOP
        PERFORM remember_text(1000), md5(repeat(i::text, 300000));
        PERFORM pg_sleep(0.07);
    END LOOP;
    PERFORM pg_sleep(3600);
END $$;
