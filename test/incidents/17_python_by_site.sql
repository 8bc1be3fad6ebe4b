-- Python's objects, and malloc by call site
--
-- A function in PL/Python appends 40,000 small objects to a list in GD in each of 60
-- calls, in a server that pg_leakhunt_malloc.so is preloaded into.  Python maps memory
-- for them by itself; only the lists, 20 MB, come from malloc.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plpython3u')
-- preloaded: pg_leakhunt_malloc.so
-- suspect: ?(malloc *)mapped - -
-- says: Verdict: mapped
-- says: has loaded PL/Python: see what its functions keep in GD
-- never: Verdict: leak
SELECT 'SELECT remember_objects(40000);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
