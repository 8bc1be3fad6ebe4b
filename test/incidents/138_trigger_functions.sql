-- Trigger functions on temporary tables
--
-- An import creates a temporary table with a trigger, fills it, and drops it, 2,500 times.
-- The function is compiled for each, and stays.
--
-- source: https://www.postgresql.org/message-id/flat/20180307192343.GA31205%40alvherre.pgsql
-- rests: idle
-- suspect: @(contexts|held|leak|growing) *
-- says: A trigger function is compiled once for each table
-- never: CREATE OR REPLACE|Verdict: (none|query|malloc)
CREATE FUNCTION pg_temp.check_row() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE found int; BEGIN
    SELECT balance INTO found FROM accounts WHERE id = NEW.id; RETURN NEW; END $$;
SELECT format('CREATE TEMP TABLE stage_%s (id int)', i),
    format('CREATE TRIGGER check_row BEFORE INSERT ON stage_%s FOR EACH ROW EXECUTE FUNCTION pg_temp.check_row()', i),
    format('INSERT INTO stage_%s VALUES (1)', i), format('DROP TABLE stage_%s', i)
FROM generate_series(1, 2500) i \gexec
