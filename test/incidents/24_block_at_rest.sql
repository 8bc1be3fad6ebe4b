-- A block that has filled an array
--
-- A DO block fills an array of 96 MB within three seconds, and then waits.
--
-- suspect: query * expanded array
-- says: Verdict: query
-- says: The memory is freed (when|at)
-- never: kB/s.* Verdict: none
-- never: Verdict: (leak|held)
DO $$ DECLARE parts text[]; BEGIN
    FOR n IN 1 .. 6000 LOOP parts[n] := repeat(md5(n::text), 512); IF n % 100 = 0 THEN PERFORM pg_sleep(0.03); END IF; END LOOP;
    PERFORM pg_sleep(3600); END $$;
