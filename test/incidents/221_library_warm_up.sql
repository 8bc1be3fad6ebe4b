-- A library that loads its dictionary once
--
-- The first statement of a session lets a library load its dictionary of 120 MB, by
-- malloc. 200 statements after that use it, and nothing more is allocated. Each session
-- has its own, as long as it lives.
--
-- source: https://github.com/jaiminpan/pg_jieba/issues/11
-- needs: leak_by_libxml(1, 1)
-- suspect: @(none|malloc - -)
-- says: outside of memory contexts
-- says: has hardly changed|no more than [0-9.]+ (s|min)|not grown|does not grow
-- never: until this is fixed|Until this is fixed
-- never: Verdict: (leak|held|query|contexts|mapped|growing|freed)
SELECT leak_by_libxml(1000, 120);
SELECT format('SELECT count(*), max(balance) FROM accounts WHERE branch = %s;', i % 100), 'SELECT pg_sleep(0.05);' FROM generate_series(1, 200) i \gexec
