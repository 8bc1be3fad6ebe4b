/*
 * plan_result.h
 *	  What the nodes of a plan held, as a statement that was watched leaves it.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PLAN_RESULT_H
#define PLH_PLAN_RESULT_H

#include "nodes/plannodes.h"

#include "plan/plan_tree.h"
#include "plan/plan_workers.h"
#include "sampler/plan_nodes.h"

/* What a node held, and the site that had most of it when that was most. */
typedef struct PlhNodeResult
{
	PlhPlanAmount at_peak;		/* of the statement */
	PlhPlanAmount highest;
	uint32		top_site;		/* offset in the profile; 0: none */
	int64		top_bytes;
} PlhNodeResult;

/* What parallel workers with one number held. */
typedef struct PlhWorkerResult
{
	PlhWorkerTotal total;		/* without runs: there was none */
	const PlhWorkerNode *nodes; /* by id, as far as result->ids goes */
} PlhWorkerResult;

typedef struct PlhPlanResult
{
	const PlannedStmt *plan;	/* an address that is compared only */
	const PlhPlanTree *tree;
	PlhPlanAmount peak;
	PlhPlanAmount stages[PLH_STAGES];	/* at the peak */
	PlhPlanAmount in_nodes;		/* the same */
	PlhNodeResult *nodes;		/* by id, from 0 to tree->ids */
	uint32		interval;		/* of samples, at the end */
	int64		lost_samples;
	bool		lacks_workers;	/* they could not tell what they held */
	PlhWorkerResult workers[PLH_PLAN_WORKERS_MAX];
} PlhPlanResult;

/*
 * What the sampler and workers know of a statement, as it was watched.  The result
 * belongs to the current memory context; its tree is the argument.
 */
extern PlhPlanResult *plh_plan_result_take(const PlannedStmt *plan, const PlhPlanTree *tree,
										   bool lacks_workers);

#endif							/* PLH_PLAN_RESULT_H */
