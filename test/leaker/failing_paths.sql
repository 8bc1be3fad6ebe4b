-- The functions of failing_paths.c; psql variable "failing_paths" is its path.

CREATE FUNCTION leak_on_error(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;

CREATE FUNCTION leak_when_failing(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;

CREATE FUNCTION leak_malloc_when_failing(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;

CREATE FUNCTION build_context(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;

CREATE FUNCTION crash_when_failing(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;

CREATE FUNCTION end_subtransaction_when_failing(mended bool) RETURNS void
    AS :'failing_paths' LANGUAGE C STRICT;
