-- A driver that keeps its file while a cursor is open
--
-- ogr_fdw reads a file of 400,000 features by a cursor. GDAL's driver keeps all of them
-- until the cursor is closed, in C++ objects outside of memory contexts. GDAL brings
-- libpq and seventy other libraries.
--
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'ogr_fdw')
-- rests: idle in transaction
-- suspect: malloc - -
-- says: Verdict: malloc
-- says: loaded by this process: ogr_fdw\.so with libgdal\.so[.0-9]*, [^ ]* and [0-9]+ more;
-- never: dblink
-- never: postgres_fdw
-- never: Nothing keeps growing
\setenv PGOPTIONS
CREATE EXTENSION IF NOT EXISTS ogr_fdw;
\! (echo '{"type":"FeatureCollection","features":['; for i in $(seq 1 100000); do echo "{\"type\":\"Feature\",\"id\":$i,\"properties\":{\"name\":\"feature $i\",\"kind\":\"road\",\"lanes\":2},\"geometry\":{\"type\":\"Point\",\"coordinates\":[$i,1]}},"; done; echo '{"type":"Feature","id":0,"properties":{"name":"last","kind":"road","lanes":2},"geometry":{"type":"Point","coordinates":[0,0]}}]}') >/tmp/p6x.geojson
