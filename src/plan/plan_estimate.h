/*
 * plan_estimate.h
 *	  What a plan may take that has not run: each of its nodes, and all together.
 *
 * Never called inside palloc.  All of it belongs to the current memory context.
 */
#pragma once

#include "executor/execdesc.h"

#include "plan/node_estimate.h"

typedef struct PlhPlanEstimate
{
	List	   *nodes;			/* of PlhNodeEstimate, as EXPLAIN prints them */
	int			processes;		/* that run at a time, at most */
	bool		has_jit;
	int			unknown;		/* nodes of which not all is limited */
	int64		private_bytes;	/* by settings, of all processes */
	int64		shared_bytes;	/* the same, with the segments that it is in */
	bool		has_shared_hash;	/* workers share a hash table there */
	int64		planned_bytes;	/* in memory, of the nodes of which that is
								 * computed */
} PlhPlanEstimate;

/* Adds a plan, made ready to run, to what is estimated of others of the same statement. */
extern void plh_plan_estimate_add(PlhPlanEstimate *estimate, const QueryDesc *query);
