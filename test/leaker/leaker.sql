-- The functions of the fixture module; psql variable "leaker" is its path.

CREATE FUNCTION leak_top(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_cache(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_child(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_generation(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_slab(times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_by_repalloc(step int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_contexts(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_at_depth(depth int, bytes int, times bigint) RETURNS int
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_named_context(name text, bytes int) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION allocate_in_balance(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION allocate_and_reset(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION fill_cache_once(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION allocate_in_critical_section(bytes int, times bigint)
    RETURNS void AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION hold_on_stack(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION hold_chunk(bytes int) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION release_chunk() RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION refused_allocation(bytes bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_empty_contexts(times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_moved_contexts(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;

-- what a proof finds to be held, and by whom
CREATE FUNCTION hold_in_list(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION hold_in_table(times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION hold_by_other_pointers(bytes int) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION forget_all() RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_aligned(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
CREATE FUNCTION leak_ring(bytes int, times bigint) RETURNS void
    AS :'leaker' LANGUAGE C STRICT;
