-- Decoding within its limit
--
-- A walsender of the publisher decodes a transaction of 6,000 subtransactions.  What it
-- keeps of them is within logical_decoding_work_mem.
--
-- read: first
-- needs: current_setting('wal_level') = 'logical'
-- process: backend_type = 'walsender'
-- source: https://github.com/2ndQuadrant/pglogical/issues/169
-- suspect: none
-- asked: alone
-- never: Verdict: (leak|held|contexts)
-- never: Report this
SELECT 1 FROM pg_create_logical_replication_slot('26_decoding', 'pgoutput');
CREATE TABLE events (i int);
CREATE PUBLICATION events FOR TABLE events;
SELECT format('CREATE SUBSCRIPTION "26_decoding" CONNECTION %L PUBLICATION events WITH (create_slot = false, copy_data = false)',
    'dbname=postgres host=' || current_setting('unix_socket_directories')) \gexec
DO $$ BEGIN FOR i IN 1 .. 6000 LOOP
    BEGIN INSERT INTO events VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP; PERFORM pg_sleep(3600); END $$;
