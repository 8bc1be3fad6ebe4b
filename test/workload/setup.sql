-- What the sessions of the load test share.  Each checks its own results by
-- expect(), which ends it if one is wrong.

CREATE FUNCTION expect(got numeric, expected numeric, what text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'wrong result: % is %, not %', what, got, expected
            USING ERRCODE = 'assert_failure';
    END IF;
END $$;

-- What an exact session has leaked, by function of the fixture.
CREATE TABLE leaked (pid int, function text, bytes bigint, chunks bigint);

-- What the memory contexts of an exact session have in use, as PostgreSQL counts it.
CREATE TABLE used (pid int, context_name text, bytes bigint);

CREATE TABLE parents (a int PRIMARY KEY);
INSERT INTO parents SELECT generate_series(1, 100);

CREATE PROCEDURE make_and_drop_table() LANGUAGE plpgsql AS $$
DECLARE
    own text := 'own_' || pg_backend_pid();
BEGIN
    EXECUTE format('CREATE TABLE %I (a int REFERENCES parents, b text)', own);
    EXECUTE format('INSERT INTO %I SELECT a, repeat(''x'', a) FROM parents', own);
    EXECUTE format('CREATE INDEX ON %I (b)', own);
    EXECUTE format('DROP TABLE %I', own);
END $$;
