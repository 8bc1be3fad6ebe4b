/*
 * explained_query.h
 *	  Runs EXPLAIN (ANALYZE) of a statement, and tells what each node of the plan held.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

/* Called once, when the module is loaded. */
extern void plh_explained_query_start(void);

/* Returns rows, as strings.  "options" are further ones of EXPLAIN, with commas, or empty. */
extern List *plh_explained_query_run(const char *query, const char *options);
