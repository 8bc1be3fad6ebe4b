-- The function of meeting.c; psql variable "meeting" is its path.

CREATE FUNCTION meet(processes int) RETURNS int
    AS :'meeting' LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
