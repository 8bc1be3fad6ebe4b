PREPARE rows (int) AS SELECT g AS a FROM generate_series(1, $1) g;
CREATE TEMP TABLE answer AS EXECUTE rows(10);
SELECT expect(sum(a), 55, 'rows of a prepared statement') FROM answer;
DROP TABLE answer;
DEALLOCATE rows;
