-- A function in PL/Python returns a large array
--
-- A function in PL/Python returns a list of 2,000,000 numbers as an array. The statement
-- that has called it still runs.
--
-- source: https://github.com/greenplum-db/gpdb/issues/3654
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plpython3u')
-- suspect: query * ExprContext
-- says: PL/Python|plpython3
-- says: The memory is freed when the statement ends
-- never: max lifetime
-- says: work_mem does not limit|returns? (a )?(large|smaller)|freed when the statement ends
-- never: EXPLAIN the statement
-- never: Verdict: (leak|held|contexts|malloc|mapped|none)
CREATE FUNCTION gen_array(x int) RETURNS float8[] LANGUAGE plpython3u AS $$
from random import random
return [random() for _ in range(x)]
$$;
SELECT cardinality(gen_array(2000000)), pg_sleep(3600);
