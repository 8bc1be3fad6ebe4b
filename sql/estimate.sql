-- What a statement would take, without running it.
SET client_min_messages = warning;
CREATE EXTENSION pg_leakhunt;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '1MB';
SET hash_mem_multiplier = 2;
CREATE TABLE estimated AS SELECT g AS id, g % 100 AS few, 'row ' || g AS text FROM generate_series(1, 1000) g;
CREATE INDEX estimated_few ON estimated (few);
ANALYZE estimated;

-- nodes, and what limits them: bytes are a little more than the setting
PREPARE nodes(text) AS
    SELECT part, kind, bytes / 1024 / 1024 AS mb, processes
    FROM pg_leakhunt_estimate($1) WHERE node_id IS NOT NULL;
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXECUTE nodes('SELECT * FROM estimated ORDER BY text');
EXECUTE nodes('SELECT count(*) FROM estimated a JOIN estimated b USING (id)');
EXECUTE nodes('SELECT few, sum(id), max(text) FROM estimated GROUP BY few');
SET enable_hashagg = off;
EXECUTE nodes('WITH c AS MATERIALIZED (SELECT * FROM estimated) SELECT count(*) FROM c a JOIN c b USING (id)');
RESET enable_hashagg;

-- what no setting limits
PREPARE unknown(text) AS
    SELECT trim(part) AS part, substring(explanation FROM 'not known: [^;]*') AS unknown
    FROM pg_leakhunt_estimate($1) WHERE kind = 'not known';
EXECUTE unknown('SELECT few, array_agg(text) FROM estimated GROUP BY few');
EXECUTE unknown('SELECT few, count(*), avg(id), max(text) FROM estimated GROUP BY few');
EXECUTE unknown('SELECT string_agg(text, '','') OVER () FROM estimated');
CREATE FUNCTION estimated_function(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
EXECUTE unknown('SELECT estimated_function(id) FROM estimated WHERE estimated_function(few) > 0');
EXECUTE unknown('SELECT * FROM generate_series(1, 10)');
EXECUTE unknown('SELECT * FROM json_array_elements(''[1, 2]'')');
CREATE AGGREGATE estimated_sum(int) (SFUNC = int4pl, STYPE = int);
CREATE AGGREGATE estimated_list(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray);
EXECUTE unknown('SELECT estimated_sum(id), estimated_list(id) FROM estimated');
ALTER TABLE estimated ADD PRIMARY KEY (id);
CREATE TABLE estimated_child (id int REFERENCES estimated);
EXECUTE unknown('INSERT INTO estimated_child SELECT id FROM estimated');
EXECUTE unknown('DELETE FROM estimated_child');
SELECT kind, bytes FROM pg_leakhunt_estimate('DELETE FROM estimated WHERE few NOT IN (SELECT few FROM estimated)') WHERE kind = 'not known' AND explanation LIKE '%hash table of %SubPlan%, which no setting limits%';
SELECT part FROM pg_leakhunt_estimate('SELECT array_agg(id) FROM estimated') LIMIT 1;

-- the first row is the sum of those that follow
SELECT max(bytes) FILTER (WHERE kind = 'at most') = sum(bytes) FILTER (WHERE kind <> 'at most') AS is_sum
    FROM pg_leakhunt_estimate('SELECT few, count(*) FROM estimated a JOIN estimated b USING (few) GROUP BY few ORDER BY 2');

-- parallel workers, and what /dev/shm must have
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE estimated SET (parallel_workers = 2);
SELECT part, processes, bytes > 0 AS has_bytes FROM pg_leakhunt_estimate('SELECT count(*) FROM estimated a JOIN estimated b USING (text)') WHERE part ~ 'Hash|Gather|most';
SELECT part, bytes / 1024 / 1024 AS mb, explanation ~ '^(fits|does not fit): 1[0-9] MB at most; /dev/shm has .* free of ' AS is_told
    FROM pg_leakhunt_estimate('SELECT count(*) FROM estimated a JOIN estimated b USING (text)') WHERE kind = 'shared memory';
SET work_mem = '1000GB';
SELECT substring(explanation FROM '^[^:]*') FROM pg_leakhunt_estimate('SELECT count(*) FROM estimated a JOIN estimated b USING (text)') WHERE kind = 'shared memory';
SET work_mem = '1MB';
SET max_parallel_workers_per_gather = 0;

-- other commands, and what they run
PREPARE first(text) AS SELECT part, kind, bytes / 1024 / 1024 AS mb FROM pg_leakhunt_estimate($1) LIMIT 1;
SET maintenance_work_mem = '16MB';
EXECUTE first('CREATE INDEX ON estimated (text)');
EXECUTE first('VACUUM estimated');
EXECUTE first('ANALYZE estimated');
EXECUTE first('DROP TABLE estimated');
EXECUTE first('CREATE TABLE estimated_copy AS SELECT * FROM estimated ORDER BY text');
EXECUTE first('COPY (SELECT * FROM estimated ORDER BY text) TO STDOUT');
EXECUTE first('EXPLAIN SELECT * FROM estimated ORDER BY text');
EXECUTE first('DECLARE c CURSOR FOR SELECT * FROM estimated ORDER BY text');
PREPARE prepared(int) AS SELECT * FROM estimated WHERE id > $1 ORDER BY text;
EXECUTE first('EXECUTE prepared(1)');
SELECT explanation ~ 'without the values of parameters$' AS is_generic FROM pg_leakhunt_estimate('SELECT * FROM estimated WHERE id > $1 ORDER BY text') LIMIT 1;

-- nothing runs
CREATE SEQUENCE estimated_sequence;
SELECT count(*) > 0 AS estimated FROM pg_leakhunt_estimate('SELECT nextval(''estimated_sequence''), estimated_function(id) FROM estimated');
SELECT is_called FROM estimated_sequence;

-- errors
SELECT pg_leakhunt_estimate(NULL);
SELECT pg_leakhunt_estimate('');
SELECT pg_leakhunt_estimate('SELECT 1; SELECT 2');
SELECT pg_leakhunt_estimate('SELECT nothing FROM estimated');
SELECT pg_leakhunt_estimate('SELEC 1');
SELECT pg_leakhunt_estimate('EXECUTE estimated_by_nobody');
CREATE ROLE regress_leakhunt_estimator;
SET ROLE regress_leakhunt_estimator;
SELECT pg_leakhunt_estimate('SELECT * FROM estimated');
SELECT count(*) > 0 AS estimated FROM pg_leakhunt_estimate('SELECT 1');
RESET ROLE;

-- how large /dev/shm is, is not for everybody
GRANT SELECT ON estimated TO regress_leakhunt_estimator;
SET max_parallel_workers_per_gather = 2;
SET ROLE regress_leakhunt_estimator;
SELECT explanation ~ '^1[0-9] MB in /dev/shm$' AS is_without_figures FROM pg_leakhunt_estimate('SELECT count(*) FROM estimated a JOIN estimated b USING (text)') WHERE kind = 'shared memory';
RESET ROLE;
REVOKE SELECT ON estimated FROM regress_leakhunt_estimator;

DROP ROLE regress_leakhunt_estimator;
DROP TABLE estimated, estimated_child;
DROP FUNCTION estimated_function;
DROP AGGREGATE estimated_sum(int), estimated_list(anycompatible);
DROP SEQUENCE estimated_sequence;
DROP EXTENSION pg_leakhunt;
