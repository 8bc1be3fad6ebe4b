/*
 * parsed_text.h
 *	  The statements of a text that a caller of a function has given.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

/*
 * Returns the RawStmts of a text.  A syntax error is an ERROR that points into this text, not into
 * the statement of the client.
 */
extern List *plh_parsed_text_read(const char *text);
