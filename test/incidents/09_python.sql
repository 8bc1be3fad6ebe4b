-- Python's objects
--
-- A function in PL/Python appends 40,000 small objects to a list in GD in each of 60
-- calls.  Python maps memory for them by itself.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plpython3u')
-- suspect: mapped - -
-- says: Verdict: mapped
-- says: has loaded PL/Python: see what its functions keep in GD
-- never: Verdict: leak
SELECT 'SELECT remember_objects(40000);', 'SELECT pg_sleep(0.08);'
FROM generate_series(1, 60) \gexec
