CREATE TEMP TABLE scratch (a int PRIMARY KEY, b text);
INSERT INTO scratch SELECT g, repeat('x', g % 100) FROM generate_series(1, 500) g;
CREATE INDEX ON scratch (b, a);
ANALYZE scratch;
SELECT expect(count(*), 5, 'rows by an index') FROM scratch WHERE b = 'xxxxxxx';
ALTER TABLE scratch ADD c int DEFAULT 3;
SELECT expect(sum(c), 1500, 'sum of a new column') FROM scratch;
DROP TABLE scratch;
CALL make_and_drop_table();
