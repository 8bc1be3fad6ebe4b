-- A value of 50 MB is decoded
--
-- A walsender decodes a row with a value of 50 MB for a client that does not read it. It puts
-- the value together from its chunks, and the output plugin makes a text of it. Parts of
-- a value can't be written to disk, so that logical_decoding_work_mem does not limit it.
--
-- source: https://granicus.if.org/sourcecode?a=commit&h=b86d148ae339be7937ba8aa707de6905314a78c4&p=postgresql
-- needs: current_setting('wal_level') = 'logical'
-- process: backend_type = 'walsender' AND wait_event = 'WalSenderWriteData'
-- asked: alone
-- suspect: query *
-- says: decod
-- says: test_decoding|output plugin
-- says: A single value|[Oo]ne (value|row|change)|large (value|row|change)s?
-- never: many subtransactions
-- never: hash table
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE scans (id int, body text);
ALTER TABLE scans ALTER body SET STORAGE EXTERNAL;
SELECT 1 FROM pg_create_logical_replication_slot('239_large_value_decoded', 'test_decoding');
SELECT current_setting('unix_socket_directories') AS folder, current_setting('port') AS port, setting AS bindir FROM pg_config WHERE name = 'BINDIR' \gset
\setenv FOLDER :folder
\setenv PORT :port
\setenv BINDIR :bindir
\! (trap '' HUP; PGOPTIONS='-c wal_sender_timeout=0' "$BINDIR/pg_recvlogical" -h "$FOLDER" -p "$PORT" -d postgres --slot=239_large_value_decoded --no-loop --start -f - & sleep 1.5; kill -STOP $!; sleep 150; kill -KILL $!) >/dev/null 2>&1 &
SELECT pg_sleep(3);
INSERT INTO scans SELECT 1, repeat('s', 50000000);
SELECT pg_sleep(3);
