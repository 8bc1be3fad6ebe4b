-- A recursion of many depths
--
-- A function calls itself, at up to 40 depths, and keeps something at the end of each.
--
-- suspect: query keep_at_depth *
-- says: Verdict: query \(the running statement or transaction\)
-- says: [0-9]+% (at|of it was allocated in) keep_at_depth
-- never: no call site has more than
SELECT keep_deep(120000), pg_sleep(3600);
