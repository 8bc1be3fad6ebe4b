-- VACUUM of 6,000,000 dead rows
--
-- VACUUM keeps the places of dead rows in an array: 36 MB of the 256 MB that
-- maintenance_work_mem allows. It is slow, as vacuum_cost_delay is set, and takes no more.
--
-- source: https://github.com/osm2pgsql-dev/osm2pgsql-website/issues/11
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'VACUUM%' AND wait_event = 'VacuumDelay'
-- asked: alone
-- suspect: none
-- says: Verdict: none
-- never: Report this
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE ways (i int) WITH (autovacuum_enabled = off);
INSERT INTO ways SELECT generate_series(1, 6000000);
CREATE INDEX ON ways (i);
DELETE FROM ways;
SELECT dblink_connect('vacuum', format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')));
SELECT dblink_exec('vacuum', 'SET maintenance_work_mem = ''256MB''');
SELECT dblink_exec('vacuum', 'SET vacuum_cost_delay = 50; SET vacuum_cost_limit = 800; SET vacuum_cost_page_hit = 1');
SELECT dblink_send_query('vacuum', 'VACUUM (INDEX_CLEANUP on) ways');
SELECT pg_sleep(30);
