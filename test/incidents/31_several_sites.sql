-- A statement with several call sites
--
-- A statement builds a large jsonb value, and sets settings meanwhile.
--
-- suspect: query *
-- says: Verdict: query \(the running statement or transaction\)
-- says: (holds|has allocated) [0-9]+ MB
-- says: By call site: [0-9]+% at
-- never: Verdict: (leak|held)
SELECT length(jsonb_agg(jsonb_build_object('id', i, 'text', md5(i::text)))::text), pg_sleep(3600),
    count(set_config('app.value_' || i % 50, repeat('y', 1000), false)) FROM generate_series(1, 200000) i;
