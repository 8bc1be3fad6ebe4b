-- Nothing at all
--
-- The server has just been started, and one session has asked for the time.
--
-- asked: of all
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|retained|growing)
SELECT now();
