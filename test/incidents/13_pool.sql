-- A pool of 50
--
-- 50 sessions of a connection pool run 120 ordinary statements each.  None of them is
-- a suspect, and this is what is said of one.
--
-- sessions: 50
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
PREPARE balance AS SELECT balance FROM accounts WHERE id = $1;
SELECT format('EXECUTE balance(%s);', i),
    format('UPDATE accounts SET balance = balance + 1 WHERE id = %s;', i + pg_backend_pid() % 1000),
    format('SELECT branch, count(*), sum(balance) FROM accounts WHERE branch = %s GROUP BY 1;', i)
FROM generate_series(1, 40) i \gexec
