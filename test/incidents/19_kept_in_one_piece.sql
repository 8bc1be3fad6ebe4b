-- Kept, in one piece
--
-- A single statement leaves one chunk of 100 MB in the session.
--
-- suspect: held hold_chunk TopMemoryContext
-- figure: 104857600 left
-- says: Verdict: held at hold_chunk \(leaker\.c:[0-9]+\) in TopMemoryContext
-- says: Statement: SELECT hold_chunk\(104857600\)
-- never: Verdict: leak
SELECT hold_chunk(104857600);
