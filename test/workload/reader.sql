-- A round of a session that looks at others: at one view, one function of a process
-- and one of a dump, each by chance.
SELECT 'SELECT * FROM pg_leakhunt_' ||
    (ARRAY['processes', 'report', 'suspects', 'contexts', 'sampling', 'symbols',
        'suppressed', 'dumps'])[1 + floor(random() * 8)] \gexec
SELECT 'SELECT * FROM pg_leakhunt_' ||
    format((ARRAY['report(%1$s)', 'history(%1$s)', 'top(%1$s, ''line'')',
        'top(%1$s, ''context'', growth => true)', 'folded(%1$s, context => true)',
        'folded(%1$s, growth => true)', 'flamegraph(%1$s, query => true)',
        'flamegraph(%1$s, growth => true)', 'pprof(%1$s)'])[1 + floor(random() * 9)], pid)
    FROM (SELECT pid FROM pg_leakhunt_processes ORDER BY random() LIMIT 1) one \gexec
SELECT 'SELECT * FROM pg_leakhunt_' ||
    format((ARRAY['report(%1$L)', 'top(%1$L)', 'folded(%1$L)', 'flamegraph(%1$L)',
        'pprof(%1$L)', 'diff(%1$L, %1$L)'])[1 + floor(random() * 6)], file)
    FROM (SELECT file FROM pg_leakhunt_dumps ORDER BY random() LIMIT 1) one \gexec
SELECT * FROM pg_leakhunt_check('SELECT 1', 5, 2);
