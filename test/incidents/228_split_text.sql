-- A text is split into 8,000,000 parts
--
-- A statement splits a text of 67 MB into an array. The array stays, and
-- the text as well, for as long as the row is worked on.
--
-- source: https://github.com/greenplum-db/gpdb/pull/5650
-- suspect: query * ExprContext
-- says: work_mem does not limit
-- says: The memory is freed when the statement ends
-- says: string_to_array
-- never: hash table
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE exports AS SELECT string_agg(i::text, ',') AS line FROM generate_series(1, 8000000) i;
SELECT cardinality(string_to_array(line, ',')), pg_sleep(3600) FROM exports;
