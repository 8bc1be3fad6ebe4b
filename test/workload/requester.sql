-- A round of a session that disturbs others.  The exact ones are not started or
-- stopped, and not cancelled; whatever else is done to them changes nothing.
SELECT pg_leakhunt_start(pid, (ARRAY[1, 7, 1000, 65536, NULL])[1 + floor(random() * 5)],
        (ARRAY['all', 'long_lived', NULL])[1 + floor(random() * 3)],
        (ARRAY['1 s', '100 ms', NULL]::interval[])[1 + floor(random() * 3)])
    FROM (SELECT pid FROM pg_stat_activity WHERE application_name <> 'exact'
          ORDER BY random() LIMIT 3) others;
SELECT pg_leakhunt_stop(pid)
    FROM (SELECT pid FROM pg_stat_activity WHERE application_name <> 'exact'
          ORDER BY random() LIMIT 1) others;
SELECT pg_cancel_backend(pid)
    FROM (SELECT pid FROM pg_stat_activity WHERE application_name = 'disturbed'
          ORDER BY random() LIMIT 3) others;
SELECT pg_leakhunt_baseline(pid), pg_leakhunt_dump(pid, random() < 0.1)
    FROM (SELECT pid FROM pg_leakhunt_processes ORDER BY random() LIMIT 2) others;
SELECT CASE WHEN random() < 0.05 THEN pg_leakhunt_baseline_all() END;
SELECT pg_leakhunt_reset_all() WHERE random() < 0.05;
SELECT pg_sleep(0.1);
