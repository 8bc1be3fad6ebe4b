-- An output plugin that sends small transactions
--
-- wal2json sends 2,000 transactions of 20 rows: 40,000 rows, as in the incident before, but
-- its buffer stays small.
--
-- needs: (SELECT count(*) FROM pg_ls_dir((SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR')) f WHERE f = 'wal2json.so') = 1
-- process: backend_type = 'walsender'
-- asked: alone
-- suspect: none
-- passing: yes
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE small_readings (id int PRIMARY KEY, device text, value float);
SELECT format('ALTER SYSTEM SET output_plugin_libraries = %s, wal2json', setting) FROM pg_settings WHERE name = 'output_plugin_libraries' \gexec
SELECT pg_reload_conf(), pg_sleep(1);
SELECT 1 FROM pg_create_logical_replication_slot('small_readings', 'wal2json');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! ("$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=small_readings --no-loop --start -f /dev/null & while kill -0 $PPID && kill -0 $!; do sleep 0.5; done; kill $!) >/dev/null 2>&1 &
DO $$ BEGIN FOR i IN 1 .. 2000 LOOP
    INSERT INTO small_readings SELECT i * 20 + j, 'device', j / 7.0 FROM generate_series(1, 20) j;
    COMMIT;
    END LOOP; END $$;
