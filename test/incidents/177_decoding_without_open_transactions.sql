-- Temporary tables beside decoding, and no transaction that is open
--
-- A walsender decodes what 150 transactions do that create and drop a temporary table of
-- 600 columns. Nothing else is open meanwhile, and it keeps nothing of them.
--
-- process: backend_type = 'walsender'
-- asked: alone
-- suspect: none
-- passing: yes
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT 1 FROM pg_create_logical_replication_slot('nothing_open', 'test_decoding');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! ("$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=nothing_open --no-loop --start -f /dev/null & while kill -0 $PPID && kill -0 $!; do sleep 0.5; done; kill $!) >/dev/null 2>&1 &
DO $$ DECLARE columns text; BEGIN
    SELECT string_agg('column_' || i || ' int', ',') INTO columns FROM generate_series(1, 600) i;
    FOR i IN 1 .. 150 LOOP
        EXECUTE format('CREATE TEMP TABLE wide (%s)', columns);
        DROP TABLE wide;
        COMMIT;
    END LOOP;
END $$;
