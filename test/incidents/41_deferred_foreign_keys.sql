-- Foreign keys that are checked at the end
--
-- A transaction inserts 4,000,000 rows with a deferred foreign key: each has an event
-- that waits for the end of the transaction.
--
-- source: https://newbedev.com/analyze-memory-usage-of-postgresql-why-is-it-growing-constantly
-- suspect: query * AfterTriggerEvents
-- says: events of deferred and AFTER triggers
-- says: Change fewer rows
-- never: Verdict: (leak|held)
-- never: EXPLAIN the statement
CREATE TABLE parents (id int PRIMARY KEY);
INSERT INTO parents SELECT generate_series(1, 100);
CREATE TABLE children (id int, parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO children SELECT i, i % 100 + 1 FROM generate_series(1, 4000000) i;
