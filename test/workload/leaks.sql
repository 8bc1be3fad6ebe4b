SELECT leak_top(100, 10), leak_cache(50, 20), leak_child(30, 5);
SELECT leak_generation(200, 5), leak_slab(10), leak_contexts(30, 2);
DO $$
BEGIN
    PERFORM leak_at_depth(20, 40, 3);
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
    PERFORM leak_by_repalloc(1000, 3);
END $$;
SELECT leak_named_context('named', 70), 1 / (SELECT 0);
