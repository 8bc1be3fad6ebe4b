/*
 * estimate_rows.h
 *	  What an estimate of a statement says: a row for each thing, what matters most first.
 *
 * Never called inside palloc.  All of it belongs to the current memory context.
 */
#pragma once

#include "plan/estimated_query.h"
#include "reader/seen_calls.h"

/* /dev/shm, as far as the caller may know it. */
typedef struct PlhShmRoom
{
	bool		is_used;		/* dynamic shared memory is there */
	int64		size;			/* 0: not known */
	int64		free;
} PlhShmRoom;

typedef struct PlhEstimateRow
{
	const char *kind;
	const char *part;
	const char *explanation;
	int64		bytes;			/* -1: not known, or none */
	int64		error_bytes;	/* -1: it has none */
	int64		planned_bytes;	/* -1: not computed */
	int64		calls;			/* 0: it is not about calls */
	int			processes;		/* 0: it is not about processes */
	int			node_id;		/* -1: it is no node */
} PlhEstimateRow;

/* Returns rows.  "seen" is NULL where nothing is kept of statements. */
extern List *plh_estimate_rows_make(const PlhEstimatedQuery *query, const PlhSeenCalls *seen,
									const PlhShmRoom *room);
