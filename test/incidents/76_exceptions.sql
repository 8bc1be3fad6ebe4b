-- Exceptions and regular expressions
--
-- A loop catches 2,000 exceptions, and a statement uses 50 regular expressions.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
DO $$ BEGIN FOR i IN 1 .. 20000 LOOP BEGIN PERFORM 1 / (i % 10); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$;
SELECT count(regexp_replace(md5(i::text), 'a{' || (i % 50 + 1) || '}|b+', '', 'g')) FROM generate_series(1, 50000) i;
