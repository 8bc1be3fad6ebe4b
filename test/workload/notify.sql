LISTEN load;
SELECT pg_notify('load', repeat('n', 200));
UNLISTEN load;
