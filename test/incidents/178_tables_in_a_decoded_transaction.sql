-- A decoded transaction that creates and drops tables
--
-- A transaction creates and drops a table of 600 columns 300 times, and stays open.
-- The walsender that decodes it keeps what each of these changes in the catalogs.
--
-- process: backend_type = 'walsender'
-- asked: alone
-- suspect: query *
-- says: decoding of transactions
-- says: changes to catalogs
-- says: create, alter and drop fewer tables
-- never: many subtransactions
-- never: output plugin
-- never: Report this
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
SELECT 1 FROM pg_create_logical_replication_slot('tables', 'test_decoding');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! ("$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=tables --no-loop --start -f /dev/null & while kill -0 $PPID && kill -0 $!; do sleep 0.5; done; kill $!) >/dev/null 2>&1 &
BEGIN;
DO $$ DECLARE columns text; BEGIN
    SELECT string_agg('column_' || i || ' int', ',') INTO columns FROM generate_series(1, 600) i;
    FOR i IN 1 .. 300 LOOP
        EXECUTE format('CREATE TABLE wide (%s)', columns);
        DROP TABLE wide;
    END LOOP;
END $$;
