DO $$
DECLARE
    cursor CURSOR FOR SELECT aid FROM pgbench_accounts ORDER BY aid;
    account int;
    sum bigint := 0;
BEGIN
    OPEN cursor;
    MOVE FORWARD 1000 FROM cursor;
    FOR i IN 1 .. 100 LOOP
        FETCH cursor INTO account;
        sum := sum + account;
    END LOOP;
    PERFORM expect(sum, 105050, 'rows of a cursor');
END $$;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT g, repeat('y', 100) FROM generate_series(1, 1000) g;
FETCH 10 FROM held;
COMMIT;
FETCH 10 FROM held;
CLOSE held;
