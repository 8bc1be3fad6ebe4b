-- What threads of a library leave
--
-- Eight threads of a library allocate 45 MB each, free it, and end. glibc had made an
-- arena for each, which one block that is still in use keeps as large as it was.
--
-- needs: free_in_threads(1, 1) > 0
-- rests: idle
-- suspect: freed - -
-- says: Verdict: freed
-- says: pg_leakhunt_trim\(
-- says: At least 3[0-9][0-9] MB of it is in arenas that glibc made for threads
-- says: MALLOC_ARENA_MAX=1
-- never: MALLOC_TRIM_THRESHOLD_
-- never: more than 0\.0 s
SELECT free_in_threads(8, 45);
SELECT pg_sleep(1), i FROM generate_series(1, 50) i;
