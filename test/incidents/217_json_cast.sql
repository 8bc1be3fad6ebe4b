-- A text of 17 MB becomes a jsonb
--
-- A statement casts a document of 17 MB to jsonb. The tree that is built of it takes some
-- thirty times as much, for as long as the row is worked on.
--
-- source: https://github.com/open-webui/open-webui/issues/24670
-- suspect: query * ExprContext
-- says: work_mem does not limit
-- says: json
-- says: The memory is freed when the statement ends
-- says: Statement that holds most: SELECT jsonb_array_length|Allocated by (the statement|statements of this form): SELECT jsonb_array_length
-- never: hash table
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE documents AS SELECT '[' || string_agg(format('{"id": %s, "tag": "t"}', i), ',') || ']' AS content FROM generate_series(1, 640000) i;
SELECT jsonb_array_length(content::jsonb), pg_sleep(3600) FROM documents;
