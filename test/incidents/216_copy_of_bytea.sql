-- A row of 60 MB is copied to the client
--
-- COPY TO sends a row with a value of 60 MB of type bytea, which becomes a text of 120 MB
-- and a message of 120 MB. Its next row takes long, and the memory of the first stays.
--
-- source: https://postgresql.org/message-id/CA%2B%3DV_fNkQyZFcUo2XEwFz95%3D9eaOUViyNcW0JbgiTdy8RsqcFA%40mail.gmail.com
-- suspect: query *
-- says: COPY
-- says: A single value|[Oo]ne row|large values?
-- says: in parts|substring|FORMAT binary|large object
-- says: The memory is freed when the statement ends
-- never: hash table
-- never: Verdict: (leak|held|contexts|malloc|mapped|freed|growing|none)
CREATE TABLE images AS SELECT decode(repeat('ab', 60000000), 'hex') AS image;
COPY (SELECT image FROM images UNION ALL SELECT pg_sleep(3600)::text::bytea) TO STDOUT;
