-- A large object in one piece
--
-- A statement reads a large object of 150 MB by lo_get, in one piece.
--
-- source: https://github.com/r-dbi/RPostgres/issues/519
-- suspect: query * ExprContext
-- figure: 157286400 (statement|transaction) (holds|has allocated)
-- says: A single value has about 1[456][0-9] MB
-- says: lo_get|large object
-- says: in parts|lo_get\(.*offset|substring
-- says: The memory is freed when the statement ends
-- never: literal
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
SELECT lo_from_bytea(21800001, decode(repeat('ab', 1048576), 'hex'));
DO $$ BEGIN FOR i IN 1 .. 149 LOOP PERFORM lo_put(21800001, i * 1048576::bigint, decode(repeat('ab', 1048576), 'hex')); END LOOP; END $$;
SELECT length(lo_get(21800001)), pg_sleep(3600);
