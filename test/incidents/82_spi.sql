-- Statements within a function
--
-- A function executes two statements for each of 40,000 keys.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE FUNCTION look_up(i int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE found int; BEGIN
    EXECUTE format('SELECT balance FROM accounts WHERE id = %s', i) INTO found;
    SELECT count(*) INTO found FROM accounts WHERE id = i; RETURN found; END $$;
SELECT sum(look_up(i)) FROM generate_series(1, 40000) i;
