-- Another server's rows, one by one
--
-- The function dblink() gets 150 MB of rows from another server one by one, and writes
-- them to a temporary file.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'SELECT count%'
-- suspect: none
-- says: Verdict: none
SELECT count(*) FROM dblink(format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')),
    'SELECT i, repeat(''x'', 1000) FROM generate_series(1, 150000) i UNION ALL SELECT 0, pg_sleep(3600)::text')
    AS t(i int, line text);
