-- Another server's rows, all at once
--
-- A statement reads 150 MB of rows from another server by dblink_get_result.  libpq,
-- PostgreSQL's client library, keeps all of them in memory from malloc until the last has
-- come, and needs 300 MB for them.  A process counts its memory when it allocates in memory
-- contexts, which libpq does not: so pg_leakhunt sees how large the process is, but mostly
-- not yet what has the memory.
--
-- source: https://www.postgresql.org/docs/15/contrib-dblink-get-result.html
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'SELECT count%'
-- suspect: @(malloc - -|none)
-- says: outside of memory contexts
-- says: has loaded dblink, which keeps each result in memory
-- says: SELECT pg_cancel_backend\([0-9]+\)
-- never: max lifetime
-- never: Verdict: (leak|held|query|mapped)
-- never: too little for a profile
-- never: Nothing keeps growing
SELECT dblink_connect('other', format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')));
SELECT dblink_send_query('other', 'SELECT i, repeat(''x'', 1000) FROM generate_series(1, 150000) i UNION ALL SELECT 0, pg_sleep(3600)::text');
SELECT count(*) FROM dblink_get_result('other') AS t(i int, line text);
