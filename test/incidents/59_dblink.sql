-- Another server's rows, all at once
--
-- dblink_get_result gets 150 MB of rows from another server, by libpq, which keeps them
-- in memory of malloc until the last has come.  The session has done nothing before.  Only
-- if a count happens to fall in between is it known that the memory is malloc's.
--
-- source: https://www.postgresql.org/docs/15/contrib-dblink-get-result.html
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'SELECT count%'
-- suspect: @(malloc - -|none)
-- says: (private memory is of another kind|outside of memory contexts)
-- says: libpq
-- never: Verdict: (leak|held|query|mapped)
-- never: too little for a profile
-- never: Nothing
SELECT dblink_connect('other', format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')));
SELECT dblink_send_query('other', 'SELECT i, repeat(''x'', 1000) FROM generate_series(1, 150000) i UNION ALL SELECT 0, pg_sleep(3600)::text');
SELECT count(*) FROM dblink_get_result('other') AS t(i int, line text);
