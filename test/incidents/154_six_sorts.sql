-- Six sorts in one plan, each within work_mem
--
-- A statement joins six sorted sets. Each sort holds what work_mem allows, and all of
-- them together six times of that.
--
-- passing: yes
-- suspect: none
-- says: Verdict: none
-- says: sorts hold [0-9]+ MB, no more than
-- says: Its plan has [0-9]+ nodes that sort, hash or keep rows; its settings allow
-- never: Verdict: (leak|held|query|contexts|malloc|mapped|freed|growing)
SET work_mem = '48MB';
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
CREATE TEMP TABLE numbers AS SELECT i AS id, repeat('x', 40) || i AS filler FROM generate_series(1, 250000) i;
ANALYZE numbers;
SELECT CASE WHEN id = 1 THEN pg_sleep(3600)::text END, a.filler, b.filler, c.filler, d.filler, e.filler, f.filler
FROM numbers a JOIN numbers b USING (id) JOIN numbers c USING (id) JOIN numbers d USING (id)
JOIN numbers e USING (id) JOIN numbers f USING (id);
