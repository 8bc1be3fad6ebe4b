-- COPY of a file with a quote that is not closed
--
-- COPY reads a CSV file of 2 million lines, in which one quote is not closed: all lines
-- behind it are one value.
--
-- source: https://stackoverflow.com/questions/20402696/error-unterminated-csv-quoted-field-in-postgres
-- rests: active
-- suspect: query * *
-- says: One row of COPY's input has about [0-9]+ MB
-- says: a quote that is not closed, a wrong delimiter
-- never: substring|work_mem|Verdict: (leak|held|none)
CREATE TEMP TABLE items (id int, name text);
COPY items FROM PROGRAM $$echo '1,"never closed'; yes '2,a name that is as long as others' | head -n 4000000; sleep 3600 # it rests$$ WITH (FORMAT csv);
