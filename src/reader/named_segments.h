/*
 * named_segments.h
 *	  Dynamic shared memory that extensions have registered by a name.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

typedef struct PlhNamedSegment
{
	const char *name;
	const char *type;			/* "segment", "area" or "hash" */
	int64		bytes;
} PlhNamedSegment;

/*
 * All of them, in the current memory context; NIL before PostgreSQL 19, which has no list.  Roles
 * without privileges of pg_read_all_stats get an ERROR.
 */
extern List *plh_named_segments_read(void);
