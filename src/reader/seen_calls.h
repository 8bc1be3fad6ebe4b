/*
 * seen_calls.h
 *	  What calls of one statement have taken, of all roles in a database that may be seen.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/peak_histogram.h"
#include "reader/server_activity.h"

typedef struct PlhSeenCalls
{
	int64		calls;			/* of at least statement_min_bytes; 0: none
								 * was seen */
	PlhPeakMedian median;		/* of their peaks, with all errors */
	int64		max_peak_bytes;
	int64		error_bytes;	/* of that */
	TimestampTz max_at;
} PlhSeenCalls;

/* Statements without a query id are compared by their texts without literals. */
extern void plh_seen_calls_read(PlhSeenCalls *seen, uint64 query_id, const char *text,
								Size text_bytes, PlhRoleFilter may_see);
