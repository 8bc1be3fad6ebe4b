-- A hash aggregate whose states grow
--
-- array_agg() by 400 groups, which are as many as work_mem allows, of 2 million rows.
--
-- source: https://www.postgresql.org/message-id/flat/20200607211355.4tu6xgmj5jhg6tvu%40development
-- suspect: query * *
-- says: The plan has a hash aggregate, .* A lower work_mem .* enable_hashagg = off
-- never: work_mem does not limit|Verdict: (leak|held|none)
SET enable_sort = off;
SELECT max(cardinality(a)) FROM (SELECT g % 400, array_agg(md5(g::text)) a, pg_sleep(3600) FROM generate_series(1, 2000000) g GROUP BY 1 OFFSET 0) grouped;
