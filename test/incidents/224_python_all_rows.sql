-- All rows of a query in Python
--
-- A block in PL/Python reads 150,000 rows by plpy.execute, which keeps all of them as
-- Python's objects as long as the block runs: some 200 MB from malloc.
--
-- source: https://www.rockdata.net/docs/10/plpython-database.html
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plpython3u')
-- suspect: @(malloc|mapped)*
-- says: PL/Python|plpython3|libpython
-- says: Allocated by (the statement|statements of this form): DO|While one statement ran
-- says: pg_cancel_backend
-- never: max lifetime
-- never: Verdict: (leak|held|query|contexts|none)
DO $$
rows = plpy.execute("SELECT i, repeat('x', 1000) AS line FROM generate_series(1, 150000) i")
plpy.execute("SELECT pg_sleep(3600)")
plpy.notice(len(rows))
$$ LANGUAGE plpython3u;
