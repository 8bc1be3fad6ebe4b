-- Settings that are never reset
--
-- An application keeps a value of 20 kB in a setting of its own for each request: 78 MB
-- in malloc.
--
-- needs: current_setting('server_version_num')::int < 160000
-- suspect: malloc - -
-- says: Verdict: malloc
-- says: set_config
-- never: Verdict: (leak|held)
SELECT format('SELECT count(set_config(''app.request_%s_'' || i, repeat(''x'', 20000), false)) FROM generate_series(1, 100) i;', n),
    'SELECT pg_sleep(0.1);' FROM generate_series(1, 40) n \gexec
