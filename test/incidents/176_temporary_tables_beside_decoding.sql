-- Temporary tables beside decoding
--
-- Twelve transactions are open and have changed a row each. 150 others create and drop a
-- temporary table of 600 columns. A walsender that decodes hands on what each of these
-- invalidates to all that are open.
--
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'dblink')
-- process: backend_type = 'walsender'
-- asked: alone
-- suspect: query *
-- says: decoding of transactions
-- says: changes to catalogs
-- says: logical_decoding_work_mem does not limit them
-- says: temporary ones included
-- never: many subtransactions
-- never: output plugin
-- never: Report this
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE decoded (id int);
SELECT 1 FROM pg_create_logical_replication_slot('temporary_tables', 'test_decoding');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
SELECT format('host=%s port=%s dbname=postgres', :'folder', :'port') AS server \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! ("$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=temporary_tables --no-loop --start -f /dev/null & while kill -0 $PPID && kill -0 $!; do sleep 0.5; done; kill $!) >/dev/null 2>&1 &
SELECT dblink_connect('open_' || i, :'server'), dblink_exec('open_' || i, 'BEGIN; INSERT INTO decoded VALUES (1)') FROM generate_series(1, 12) i;
DO $$ DECLARE columns text; BEGIN
    SELECT string_agg('column_' || i || ' int', ',') INTO columns FROM generate_series(1, 600) i;
    FOR i IN 1 .. 150 LOOP
        EXECUTE format('CREATE TEMP TABLE wide (%s)', columns);
        DROP TABLE wide;
        COMMIT;
    END LOOP;
END $$;
