-- 130 statements that are compiled and inlined
--
-- JIT compiles and inlines each of 130 different statements. LLVM keeps types of what it
-- has inlined until PostgreSQL makes a new LLVM context, after 100 statements: memory goes
-- up, and down again after each hundred.
--
-- source: https://github.com/polardb/PolarDB-for-PostgreSQL/issues/312
-- suspect: @(none|freed - -)
-- says: Verdict: none
-- never: until this is fixed|Until this is fixed
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|growing)
SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;
SELECT format('SELECT count(*), sum(balance + %s), max(id / %s), avg(branch::numeric * %s) FROM accounts WHERE id %% %s = 0 AND id < 500;', i, i, i, i)
FROM generate_series(1, 130) i \gexec
