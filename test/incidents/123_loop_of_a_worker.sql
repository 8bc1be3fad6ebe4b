-- A background worker works in TopMemoryContext
--
-- Its loop allocates at three places, frees nothing, and has no transactions.
--
-- suspect: leak keeping_main TopMemoryContext
-- process: backend_type = 'keeper of things'
-- says: Verdict: leak at 3 call sites of keeping_main
-- says: (9[0-9]%|all) of the process' sampled memory
-- says: per second
-- says: By call site: [0-9]+% at keeping_main
-- never: transaction
SELECT start_keeping(keeping_library(), '123_loop_of_a_worker');
SELECT pg_sleep(30);
SELECT pg_sleep(3600);
