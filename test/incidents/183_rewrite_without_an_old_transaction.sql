-- VACUUM FULL of updated rows
--
-- The same without an older transaction: nobody sees the old rows any more, and VACUUM FULL
-- remembers none.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'VACUUM FULL journal%' AND state = 'active'
-- asked: alone
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE UNLOGGED TABLE journal (id int, amount int, note text) WITH (autovacuum_enabled = off);
INSERT INTO journal SELECT i, 0, 'note ' || i FROM generate_series(1, 700000) i;
SELECT dblink_connect('vacuum', format('host=%s port=%s dbname=postgres application_name=%s',
    current_setting('unix_socket_directories'), current_setting('port'), current_setting('application_name')));
INSERT INTO journal SELECT -i, 0, repeat('filler', 20) FROM generate_series(1, 6000000) i;
UPDATE journal SET amount = 1 WHERE id > 0;
SELECT dblink_send_query('vacuum', 'VACUUM FULL journal');
SELECT pg_sleep(20);
