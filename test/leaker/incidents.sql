-- The functions of incidents; psql variable "incidents" is its path.

CREATE FUNCTION hold_rows(megabytes int, seconds float8) RETURNS SETOF int
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION hold_in_trigger() RETURNS trigger
    AS :'incidents' LANGUAGE C;
CREATE FUNCTION hold_contexts(times int) RETURNS void
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION free_and_keep(megabytes int) RETURNS void
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION leak_by_libxml(kilobytes int, times int) RETURNS bool
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION remember_ids(count int) RETURNS void
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION grow_buffer(bytes int) RETURNS void
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION free_in_threads(threads int, megabytes int) RETURNS int
    AS :'incidents' LANGUAGE C STRICT;
CREATE FUNCTION compare_copies(int, int) RETURNS int
    AS :'incidents' LANGUAGE C IMMUTABLE STRICT;
CREATE OPERATOR CLASS copying_ops FOR TYPE int USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 compare_copies(int, int);
CREATE FUNCTION keep_plans(count int) RETURNS void
    AS :'incidents' LANGUAGE C STRICT;
