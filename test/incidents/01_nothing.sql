-- Nothing at all
--
-- The server has just been started, and one session has asked for the time.
--
-- asked: of all
-- suspect: none
-- says: There is no finding
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT now();
