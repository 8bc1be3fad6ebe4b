-- JIT
--
-- 60 statements are compiled, inlined and optimized: jit_above_cost and the like are 0.
--
-- source: https://github.com/LemmyNet/lemmy/issues/4406
-- suspect: none
-- says: Verdict: none
-- never: since\. .*not for long enough
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;
SELECT format('SELECT count(*), sum(balance + %s), max(branch * %s) FROM accounts WHERE id %% %s = 0;', i, i, i) FROM generate_series(1, 60) i \gexec
