-- A report in one text
--
-- An export puts 1,500,000 lines into one text.
--
-- source: https://github.com/eulerto/wal2json/issues/6
-- suspect: query string_agg_transfn ExprContext
-- says: Verdict: query
-- never: Verdict: (leak|held)
SELECT length(string_agg(md5(i::text), E'\n')), pg_sleep(3600) FROM generate_series(1, 1500000) i;
