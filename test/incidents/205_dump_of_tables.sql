-- A dump of 1,500 tables
--
-- A session locks and describes each of 1,500 tables of 60 columns in one transaction, as
-- pg_dump does. Its caches of relations and of the catalog fill, once. It is idle in
-- transaction.
--
-- source: https://github.com/yugabyte/yugabyte-db/issues/14212
-- rests: idle in transaction
-- suspect: @(none|growing *)
-- says: cache
-- says: Verdict: none|This is no leak
-- never: Report this
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed)
CREATE SCHEMA dumped;
DO $$ DECLARE columns text; BEGIN
    SELECT string_agg('column_' || i || ' text DEFAULT ''x''', ',') INTO columns FROM generate_series(1, 60) i;
    FOR i IN 1 .. 1500 LOOP EXECUTE format('CREATE TABLE dumped.table_%s (%s)', i, columns); IF i % 50 = 0 THEN COMMIT; END IF; END LOOP; END $$;
BEGIN;
SELECT format('LOCK TABLE dumped.table_%s IN ACCESS SHARE MODE', i), format('SELECT attname, format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = ''dumped.table_%s''::regclass', i)
FROM generate_series(1, 1500) i \gexec
