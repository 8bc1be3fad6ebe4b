-- An audit trigger that audits itself
--
-- By mistake, the audit table has the audit trigger as well. Each of its rows contains the
-- one before, with all quotes escaped, so that they double from call to call. The function
-- runs within itself, some 26 times.
--
-- source: https://github.com/2ndQuadrant/audit-trigger/issues/25
-- suspect: @(query *|freed - -*query *)
-- says: audit
-- says: trigger|PL/pgSQL
-- says: The memory is freed (when the statement ends|at COMMIT or ROLLBACK)
-- never: hash table
-- never: Verdict: (leak|held|contexts|malloc|mapped|growing|none)
CREATE TABLE audited (i int);
CREATE TABLE audit_rows (row_data text);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_RELID = 'audit_rows'::regclass AND length(to_json(NEW)::text) > 80000000 THEN PERFORM pg_sleep(3600); END IF;
    INSERT INTO audit_rows VALUES (to_json(NEW)::text); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER audit AFTER INSERT ON audit_rows FOR EACH ROW EXECUTE FUNCTION audit();
INSERT INTO audited VALUES (1) RETURNING 'pg_sleep(3600)';
