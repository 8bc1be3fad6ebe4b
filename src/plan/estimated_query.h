/*
 * estimated_query.h
 *	  Plans a statement that does not run, and estimates what it would take.
 *
 * Never called inside palloc.
 */
#pragma once

#include "plan/plan_estimate.h"

typedef struct PlhEstimatedQuery
{
	uint64		query_id;		/* 0: none is computed */
	const char *text;			/* without what stands around it */
	Size		text_bytes;
	bool		is_generic;		/* planned without the values of parameters */
	int64		planner_bytes;	/* what planning took; -1: nothing is planned */
	int64		executor_bytes; /* and the states of all nodes */
	PlhPlanEstimate plan;

	/* of a command that has no plan */
	const char *command;		/* its name; NULL: it has one */
	int64		command_bytes;	/* by maintenance_work_mem; -1: not known */
} PlhEstimatedQuery;

/*
 * The result belongs to the current memory context.  As with EXPLAIN, an ERROR if the caller has
 * not the privileges that the statement needs; locks of its tables are held until the transaction
 * ends.
 */
extern PlhEstimatedQuery *plh_estimated_query_make(const char *query);
