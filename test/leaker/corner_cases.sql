-- The functions of corner_cases; psql variable "corner_cases" is its path.

CREATE FUNCTION leak_aligned(bytes int, alignment int, times bigint)
    RETURNS void AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION aligned_in_balance(bytes int, alignment int, times bigint)
    RETURNS void AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION hold_huge(bytes bigint) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION release_huge() RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION refused_growth(bytes bigint, then_free bool) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION garbage_size(bytes bigint) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION fill_bump(bytes int, times bigint) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION delete_bump() RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION free_in_critical_section(bytes int, times int) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION leak_in_transaction(bytes int, times bigint) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION pfree_is_untouched() RETURNS bool
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION leak_malloc(bytes int, times bigint) RETURNS bool
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION malloc_in_use() RETURNS bigint
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION free_unseen(bytes int, times bigint) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION reserve_addresses(bytes bigint) RETURNS bool
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION leak_in_vdso(times int) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION leak_by_unloaded(path text) RETURNS bool
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION allocate_in_deleted(bytes int) RETURNS void
    AS :'corner_cases' LANGUAGE C STRICT;
CREATE FUNCTION hold_interrupts() RETURNS int
    AS :'corner_cases' LANGUAGE C STRICT;
