-- The buffer of an output plugin
--
-- wal2json makes one text of a transaction of 400,000 rows. Its buffer stays in the walsender
-- when that has been sent, and so does the one in which the server sends it.
--
-- source: https://github.com/eulerto/wal2json/issues/183
-- needs: (SELECT count(*) FROM pg_ls_dir((SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR')) f WHERE f = 'wal2json.so') = 1
-- process: backend_type = 'walsender'
-- asked: alone
-- suspect: query *
-- says: output of logical decoding
-- says: allocated by wal2json\.so, an output plugin
-- says: as large as the largest row or transaction
-- never: many subtransactions
-- never: when the transaction has been sent
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE readings (id int PRIMARY KEY, device text, value float);
SELECT format('ALTER SYSTEM SET output_plugin_libraries = %s, wal2json', setting) FROM pg_settings WHERE name = 'output_plugin_libraries' \gexec
SELECT pg_reload_conf(), pg_sleep(1);
SELECT 1 FROM pg_create_logical_replication_slot('readings', 'wal2json');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! ("$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=readings --no-loop --start -f /dev/null & while kill -0 $PPID && kill -0 $!; do sleep 0.5; done; kill $!) >/dev/null 2>&1 &
INSERT INTO readings SELECT i, 'device ' || i % 100, i / 7.0 FROM generate_series(1, 400000) i;
