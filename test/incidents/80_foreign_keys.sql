-- Foreign keys of small transactions
--
-- 200 transactions insert 1,000 rows each into a table with a foreign key.
--
-- suspect: none
-- says: Verdict: none
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
CREATE TABLE small_parents (id int PRIMARY KEY);
INSERT INTO small_parents SELECT generate_series(1, 1000);
CREATE TABLE small_children (id int, parent int REFERENCES small_parents);
SELECT 'INSERT INTO small_children SELECT i, i % 1000 + 1 FROM generate_series(1, 1000) i' FROM generate_series(1, 200) i \gexec
