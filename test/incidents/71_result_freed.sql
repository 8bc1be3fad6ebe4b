-- A big result that is over
--
-- A statement has built a text of 20 MB, and is over.
--
-- rests: idle
-- passing: yes
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SELECT length(string_agg(md5(i::text), '')) FROM generate_series(1, 600000) i;
