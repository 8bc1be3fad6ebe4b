DO $$
DECLARE
    caught int := 0;
BEGIN
    FOR i IN 1 .. 30 LOOP
        BEGIN
            PERFORM leak_in_transaction(100, 3);
            PERFORM 1 / (i % 3);
        EXCEPTION WHEN division_by_zero THEN
            caught := caught + 1;
        END;
    END LOOP;
    PERFORM expect(caught, 10, 'caught errors');
END $$;
BEGIN;
CREATE TEMP TABLE kept (a int) ON COMMIT DROP;
SAVEPOINT one;
INSERT INTO kept SELECT generate_series(1, 100);
SAVEPOINT two;
INSERT INTO kept SELECT generate_series(1, 1000);
ROLLBACK TO two;
SELECT leak_in_transaction(10, 70);
RELEASE one;
SELECT expect(sum(a), 5050, 'rows of a subtransaction') FROM kept;
COMMIT;
