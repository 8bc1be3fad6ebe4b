-- A driver that keeps a file while a cursor is open
--
-- ogr_fdw reads a file of 100,000 features by a cursor. GDAL's driver keeps the features
-- as objects of C++, until the cursor is closed. GDAL brings eighty libraries, and libpq is
-- one of them. What it has freed while it read, malloc may keep.
--
-- needs: to_regclass('geo.features') IS NOT NULL
-- rests: idle in transaction
-- suspect: ?(freed - -*)malloc - -*
-- says: Verdict: malloc
-- says: loaded by this process: ogr_fdw\.so with libgdal\.so[.0-9]*, [^ ]* and [0-9]+ more; linked
-- never: dblink
-- never: postgres_fdw
-- never: Nothing keeps growing
-- never: Too little was sampled
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM geo.features;
FETCH 10 FROM c;
