-- JIT compiles a very long filter
--
-- A filter of 5,000 pairs of conditions is expensive enough for JIT. LLVM needs hundreds of
-- MB to compile it, past PostgreSQL's memory contexts. The statement still runs.
--
-- source: https://github.com/CrunchyData/postgres-operator/pull/3384
-- suspect: @(malloc|mapped|freed) - -*
-- says: JIT|jit
-- says: SET jit = off|[Tt]urn JIT off
-- says: While one statement ran|Allocated by (the statement|statements of this form): SELECT pg_sleep
-- never: PL/Perl|libperl
-- never: max lifetime
-- never: Verdict: (leak|held|contexts|none)
CREATE TABLE compiled (a int, b int);
SET jit = on; SET jit_above_cost = 0;
SELECT 'SELECT pg_sleep(3600), count(*) FROM compiled WHERE ' || string_agg(format('(a = %s AND b = %s)', i, i), ' OR ') FROM generate_series(1, 5000) i \gexec
