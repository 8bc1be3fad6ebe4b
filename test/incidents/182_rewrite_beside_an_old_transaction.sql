-- VACUUM FULL beside an old transaction
--
-- VACUUM FULL rewrites a table, all of whose rows were updated while an older transaction was
-- open. It remembers each old row until it meets the new one.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: query LIKE 'VACUUM FULL ledger%' AND state = 'active'
-- asked: alone
-- suspect: query *
-- says: old rows that a rewrite of a table remembers
-- says: Nothing limits their number
-- says: older transactions end first
-- never: (maintenance_)?work_mem
-- never: hash table
-- never: Report this
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE UNLOGGED TABLE ledger (id int, amount int, note text) WITH (autovacuum_enabled = off);
INSERT INTO ledger SELECT i, 0, 'note ' || i FROM generate_series(1, 700000) i;
SELECT format('host=%s port=%s dbname=postgres', current_setting('unix_socket_directories'), current_setting('port')) AS server \gset
SELECT dblink_connect('old', :'server'), dblink_exec('old', 'BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TEMP TABLE seen AS SELECT 1');
SELECT dblink_connect('vacuum', :'server' || ' application_name=182_rewrite_beside_an_old_transaction');
SELECT pg_sleep(1);
INSERT INTO ledger SELECT -i, 0, repeat('filler', 20) FROM generate_series(1, 6000000) i;
UPDATE ledger SET amount = 1 WHERE id > 0;
SELECT dblink_send_query('vacuum', 'VACUUM FULL ledger');
SELECT pg_sleep(20);
