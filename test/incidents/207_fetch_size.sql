-- A foreign table with a large fetch_size
--
-- A foreign table of postgres_fdw has a fetch_size of 200,000. So 150 MB of rows are
-- fetched at once, and kept while they are read one by one.
--
-- source: https://www.getgalaxy.io/learn/common-errors/postgresql-error---hv001-fdw-out-of-memory-error-causes-and-fixes
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw')
-- suspect: query *
-- says: postgres_fdw
-- says: fetch_size
-- says: The memory is freed when the statement ends
-- never: larger than the planner expected|hash table got far more
-- never: Verdict: (leak|held|contexts|mapped|growing|none)
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
CREATE TABLE far_rows AS SELECT i AS id, repeat('x', 700) AS line FROM generate_series(1, 200000) i;
SELECT format('CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L, fetch_size ''200000'')',
    current_setting('unix_socket_directories'), current_setting('port'), 'postgres') \gexec
CREATE USER MAPPING FOR CURRENT_USER SERVER far;
CREATE FOREIGN TABLE far_table (id int, line text) SERVER far OPTIONS (table_name 'far_rows');
SELECT count(CASE WHEN id = 1000 AND line > '' THEN pg_sleep(3600)::text END) FROM far_table;
