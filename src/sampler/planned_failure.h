/*
 * planned_failure.h
 *	  Lets one allocation of a statement fail, the n-th, as a test of it asks for.
 *
 * Only those count at which a failure ends no more than the statement (process_limit.c), and in
 * contexts that live as long as the session only those of code outside of the server.  All
 * allocations must take the slow path meanwhile (plh_countdown_track_all), and the server's
 * functions must be known (plh_allocation_wrappers_locate).
 *
 * This code runs inside palloc.
 */
#pragma once

typedef struct PlhPlannedFailure
{
	int64		number;			/* of the allocation, from 1 on; 0: none fails */
	bool		is_dry;			/* it is only looked at */

	/* What has come so far. */
	int64		passed;			/* allocations that count */
	uint32		site;			/* offset of its site; 0: it has not come */
	Size		size;			/* which it asked for */
} PlhPlannedFailure;

/* What is planned; NULL: nothing. */
extern PlhPlannedFailure *plh_planned_failure;

extern bool plh_planned_failure_take(MemoryContext context, Size size);
extern void plh_planned_failure_forget(void);

/* Is the allocation to fail? */
static inline bool
plh_planned_failure_is_due(MemoryContext context, Size size)
{
	return unlikely(plh_planned_failure != NULL) && plh_planned_failure_take(context, size);
}
