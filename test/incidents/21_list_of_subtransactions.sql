-- Something small in each subtransaction
--
-- A loop has 15,000 blocks with an EXCEPTION clause, and each of them notifies somebody.
-- Each keeps a context of 8 kB until the transaction ends.
--
-- source: https://github.com/neondatabase/neon/issues/12173
-- suspect: contexts * CurTransactionContext
-- says: Verdict: contexts \(subtransactions\)
-- says: EXCEPTION clause
-- says: Commit more often
-- never: Report this
-- never: Verdict: (leak|held)
DO $$ BEGIN FOR i IN 1 .. 15000 LOOP
    BEGIN PERFORM pg_notify('done', i::text); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP; PERFORM pg_sleep(3600); END $$;
