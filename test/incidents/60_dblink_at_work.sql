-- Another server's rows, all at once, after work
--
-- A statement reads 150 MB of rows from another server by dblink_get_result, in a
-- session that has run a large sort earlier. So the process has counted its memory
-- before, and counts it again when libpq has the first rows. How much of the 300 MB is
-- known to be from malloc depends on when that was.
--
-- source: https://www.postgresql.org/docs/15/contrib-dblink-get-result.html
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'SELECT count%'
-- suspect: @(malloc - -|none)
-- says: (malloc (had|has) given out|the counted figures do not include)
-- never: Allocated by (the statement|statements of this form): SELECT (dblink_|count\(DISTINCT)
-- says: (before the running statement began|While one statement ran|of memory contexts: malloc gave it out)
-- says: has loaded dblink, which keeps each result in memory
-- says: SELECT pg_cancel_backend\([0-9]+\)
-- never: max lifetime
-- never: Verdict: (leak|held|query|mapped)
SET work_mem = '100MB';
SELECT count(DISTINCT i::text) FROM generate_series(1, 600000) i;
RESET work_mem;
SELECT dblink_connect('other', format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')));
SELECT dblink_send_query('other', 'SELECT i, repeat(''x'', 1000) FROM generate_series(1, 150000) i UNION ALL SELECT 0, pg_sleep(3600)::text');
SELECT count(*) FROM dblink_get_result('other') AS t(i int, line text);
