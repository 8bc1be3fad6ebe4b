-- A statement of forty parts
--
-- A UNION ALL of 40 parts, which is more usual than one of 1,500.
--
-- source: https://lastdba.com/en/2024/08/12/analyzing-a-5mb-sql-that-consumed-70gb-of-memory/
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT 'SELECT 1 FROM pg_sleep(3600) UNION ALL ' || string_agg(format('SELECT a.id + b.branch + %s FROM accounts a JOIN accounts b USING (id) WHERE a.branch = %s AND b.balance > %s', i, i, i), ' UNION ALL ')
    AS text FROM generate_series(1, 40) i \gset
:text;
