/*
 * explained_query.h
 *	  Runs EXPLAIN (ANALYZE) of a statement that is given as a text, and tells what each node of
 *	  the plan held, as the option LEAKHUNT of EXPLAIN does.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

/* Called once, when the module is loaded. */
extern void plh_explained_query_start(void);

/*
 * Returns the rows of EXPLAIN's output, as strings.  "options" are further ones of EXPLAIN,
 * separated by commas, or empty.
 */
extern List *plh_explained_query_run(const char *query, const char *options);
