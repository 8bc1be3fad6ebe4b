-- One expression, after which nothing is allocated
--
-- The first statement of a session makes a text of 150 MB while it is planned, and then
-- sleeps. It allocates nothing more, and still counts its memory for whoever asks.
--
-- suspect: query * *
-- says: It has [0-9]+ MB in memory contexts
-- never: When it last counted
-- never: Verdict: (leak|held|contexts|malloc|none)
SELECT length(repeat('x', 150000000)), pg_sleep(3600);
