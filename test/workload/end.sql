-- What a session says when its work is over: what it has leaked, and what its
-- memory contexts have in use, from the second time on, when no cache has to be
-- filled for it.
INSERT INTO leaked SELECT pg_backend_pid(), function, bytes * :rounds, chunks * :rounds
    FROM (VALUES ('leak_top', 1000, 10), ('leak_cache', 1000, 20),
        ('leak_child', 150, 5), ('leak_generation', 1000, 5),
        ('leak_slab', 640, 10), ('leak_contexts', 60, 2),
        ('leak_at_depth', 120, 3), ('leak_named_context', 76, 2)) leaks (function, bytes, chunks)
    WHERE :rounds > 0;
INSERT INTO leaked SELECT pg_backend_pid(), 'leak_by_repalloc', 3000 * :rounds, 1
    WHERE :rounds > 0;
DISCARD ALL;
INSERT INTO used SELECT pg_backend_pid(), name, sum(used_bytes) FROM pg_backend_memory_contexts GROUP BY name;
DELETE FROM used WHERE pid = pg_backend_pid();
INSERT INTO used SELECT pg_backend_pid(), name, sum(used_bytes) FROM pg_backend_memory_contexts GROUP BY name;
-- Counts of table accesses are given away now, and not after 10 seconds.
SELECT pg_stat_force_next_flush(), 'finished';
