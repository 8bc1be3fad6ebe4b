-- A join of 11 tables that was planned
--
-- The planner looked at all orders in which 11 tables can be joined, at some hundred places. The
-- statement is over.
--
-- suspect: none
-- passing: yes
-- says: Verdict: none
-- says: At its sampled peak, .* about [0-9]+ MB .*was allocated in [a-z_]+ and the functions that it calls, at [0-9]+ call sites\.
-- says: That was (8|9|10)[0-9]+% of what samples showed\.
-- never: the largest call site held
DO $$
BEGIN
    FOR i IN 1..11 LOOP
        EXECUTE format('CREATE TEMP TABLE t%s AS SELECT g AS id, g %% 7 AS k FROM generate_series(1, 10) g', i);
        EXECUTE format('CREATE INDEX ON t%s (id)', i);
        EXECUTE format('CREATE INDEX ON t%s (k)', i);
    END LOOP;
END
$$;
SET join_collapse_limit = 20;
SET from_collapse_limit = 20;
SET geqo = off;
SELECT count(*) FROM t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11
WHERE t1.id = t2.id AND t2.id = t3.id AND t3.id = t4.id AND t4.id = t5.id AND t5.id = t6.id AND t6.id = t7.id
    AND t7.id = t8.id AND t8.id = t9.id AND t9.id = t10.id AND t10.id = t11.id;
SELECT pg_sleep(2);
