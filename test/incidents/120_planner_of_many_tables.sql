-- A join of 13 tables, planned
--
-- The planner looks at all orders in which 13 tables can be joined. It allocates at some hundred
-- places, none of which has much.
--
-- suspect: query *
-- says: Verdict: query \(the running statement or transaction\)
-- says: By its samples, (8|9|10)[0-9]+% of it was allocated in [a-z_]+ and the functions that it calls, at [0-9]+ call sites\.
-- never: no call site has more than
-- never: Verdict: (leak|held)
DO $$
BEGIN
    FOR i IN 1..13 LOOP
        EXECUTE format('CREATE TEMP TABLE t%s AS SELECT g AS id, g %% 7 AS k FROM generate_series(1, 10) g', i);
        EXECUTE format('CREATE INDEX ON t%s (id)', i);
        EXECUTE format('CREATE INDEX ON t%s (k)', i);
    END LOOP;
END
$$;
SET join_collapse_limit = 20;
SET from_collapse_limit = 20;
SET geqo = off;
SELECT count(*), pg_sleep(3600) FROM t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11
WHERE t1.id = t2.id AND t2.id = t3.id AND t3.id = t4.id AND t4.id = t5.id AND t5.id = t6.id AND t6.id = t7.id
    AND t7.id = t8.id AND t8.id = t9.id AND t9.id = t10.id AND t10.id = t11.id;
