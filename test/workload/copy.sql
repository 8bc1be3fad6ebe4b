CREATE TEMP TABLE numbers (a int);
COPY numbers FROM PROGRAM 'seq 1 2000';
SELECT expect(sum(a), 2001000, 'copied rows') FROM numbers;
COPY numbers TO '/dev/null';
DROP TABLE numbers;
