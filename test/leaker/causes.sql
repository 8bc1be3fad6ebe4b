-- Functions whose memory has one cause; psql variable "causes" is their library's path.

CREATE FUNCTION keep_planned() RETURNS void
    AS :'causes' LANGUAGE C STRICT;
CREATE FUNCTION compare_and_keep(int, int) RETURNS int
    AS :'causes' LANGUAGE C STRICT IMMUTABLE;
CREATE FUNCTION start_keeping(library text, name text) RETURNS bool
    AS :'causes' LANGUAGE C STRICT;
CREATE FUNCTION keep_one() RETURNS void
    AS :'causes' LANGUAGE C STRICT;
CREATE FUNCTION keep_other() RETURNS void
    AS :'causes' LANGUAGE C STRICT;
CREATE FUNCTION keep_on_two_ways() RETURNS void
    AS :'causes' LANGUAGE C STRICT;
CREATE FUNCTION keep_deep(chunks int) RETURNS int
    AS :'causes' LANGUAGE C STRICT;
CREATE OPERATOR CLASS kept_ops FOR TYPE int4 USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 compare_and_keep(int, int);
CREATE FUNCTION keeping_library() RETURNS text LANGUAGE sql AS
    $$ SELECT probin FROM pg_proc WHERE proname = 'keep_one' $$;
