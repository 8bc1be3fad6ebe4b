-- The columns of the extension's views and tables, with what comments say of them.
SELECT relname, attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE attnum > 0 AND relkind IN ('r', 'v') AND pg_class.oid IN
    (SELECT objid FROM pg_depend
    WHERE classid = 'pg_class'::regclass AND deptype = 'e' AND
        refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_leakhunt'))
ORDER BY relname, attnum
