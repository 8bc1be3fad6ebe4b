/*
 * plan_result.h
 *	  What the nodes of a plan held that was watched, also in its parallel workers.
 *
 * The leader offers shared memory before workers start, which they find by its pid.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/plannodes.h"

#include "sampler/plan_nodes.h"

/* A node as it is printed. */
typedef struct PlhTreeNode
{
	int			id;				/* its plan_node_id */
	int64		allowed_bytes;	/* what settings allow it */
	bool		by_hash;		/* hash_mem_multiplier counts, too */
	bool		is_shared;		/* a hash table that all workers share */
} PlhTreeNode;

/* The nodes of a plan in the order in which EXPLAIN prints them. */
typedef struct PlhPlanTree
{
	PlhTreeNode *nodes;
	int			count;
	int			ids;			/* each id is below this */
	bool		has_workers;	/* there is a Gather, or Gather Merge */
} PlhPlanTree;

/* Workers of a Gather have numbers; those beyond this are not told of. */
#define PLH_PLAN_WORKERS_MAX 32

/* What a worker held of a node at its own peak, and at most. */
typedef struct PlhWorkerNode
{
	PlhPlanAmount at_peak;
	PlhPlanAmount highest;
} PlhWorkerNode;

/* Of a worker, over all nodes. */
typedef struct PlhWorkerTotal
{
	uint32		runs;			/* of workers with that number */
	PlhPlanAmount peak;			/* of the one that held most */
} PlhWorkerTotal;

/* What a node held at a site when it held most. */
typedef struct PlhNodePart
{
	const struct PlhNodePart *next; /* of the same node */
	uint32		site;			/* offset in the profile */
	int64		bytes;
} PlhNodePart;

/* What a node held, and the site that had most of it when that was most. */
typedef struct PlhNodeResult
{
	PlhPlanAmount at_peak;		/* of the statement */
	PlhPlanAmount highest;
	int64		spare_bytes;	/* what chunks of the latter take beyond it */
	uint32		top_site;		/* offset in the profile; 0: none */
	int64		top_bytes;
	const PlhNodePart *parts;	/* all that held something then */
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
	PlhPlanFigures figures;
	PlhPlanAmount stages[PLH_STAGES];	/* at the peak */
	PlhPlanAmount in_nodes;		/* the same */
	PlhNodeResult *nodes;		/* by id, from 0 to tree->ids */
	bool		lacks_workers;	/* they could not tell what they held */
	PlhWorkerResult workers[PLH_PLAN_WORKERS_MAX];
} PlhPlanResult;

/* The result belongs to the current memory context; its tree is the argument. */
extern PlhPlanResult *plh_plan_result_take(const PlannedStmt *plan, const PlhPlanTree *tree,
										   bool lacks_workers);

/* The leader's.  Returns false if there is no room; "statement" is the text that workers get. */
extern bool plh_plan_result_offer_to_workers(int ids, const char *statement);
extern void plh_plan_result_withdraw_offer(void);

/* A worker's: is its leader's statement watched?  Then it tells of it at the end. */
extern bool plh_plan_result_join_leader(const char *statement);
extern void plh_plan_result_tell_leader(void);
