/*
 * node_estimate.h
 *	  What a node of a plan may take that has not run: by which setting, and what the planner
 *	  expects.
 *
 * Never called inside palloc.  All of it belongs to the current memory context.
 */
#pragma once

#include "nodes/execnodes.h"

typedef enum PlhBoundKind
{
	PLH_BOUND_ROW,				/* it has a row at a time, or passes rows on */
	PLH_BOUND_SETTINGS,
	PLH_BOUND_UNKNOWN			/* beside what settings limit, if anything */
} PlhBoundKind;

typedef struct PlhNodeEstimate
{
	int			id;				/* its plan_node_id */
	int			depth;			/* 0: the top one */
	const char *label;
	int			processes;		/* that run it, the leader included */
	PlhBoundKind kind;
	int64		bytes;			/* by settings, in each of them */
	int64		shared_bytes;	/* the same, in shared memory, of all together */
	bool		has_shared_hash;
	int64		planned_bytes;	/* of rows that the planner expects, in each
								 * process or shared; -1: not computed */
	const char *limit;			/* the setting; NULL: none */
	List	   *unknown;		/* texts, of what no setting limits */
} PlhNodeEstimate;

/*
 * Estimates a node that so many processes run.  Which CTEs have been counted is noted in the set.
 */
extern PlhNodeEstimate *plh_node_estimate_make(PlanState *planstate, int processes,
											   Bitmapset **counted_ctes);
