-- The functions of the module that uses malloc; psql variable "malloc_users" is its path.

CREATE FUNCTION hold_malloc(bytes int, times bigint) RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION release_malloc() RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION forget_malloc() RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION hold_in_malloc(bytes int) RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION held_bytes() RETURNS bigint
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION held_usable_bytes() RETURNS bigint
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION regrow_malloc(bytes int) RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION churn_malloc(bytes int, seconds float8) RETURNS bigint
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION exchange_in_threads(threads int, rounds bigint) RETURNS bool
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION fork_while_exchanging(threads int, rounds bigint) RETURNS int
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION leak_in_threads(threads int, times bigint) RETURNS bool
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION dump_jemalloc(path text) RETURNS bool
    AS :'malloc_users' LANGUAGE C STRICT;
CREATE FUNCTION leave_step_halfway() RETURNS void
    AS :'malloc_users' LANGUAGE C STRICT;
