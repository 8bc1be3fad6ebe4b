/*
 * plan_tree.h
 *	  The nodes of a plan that is about to run: tells the sampler which of them runs.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PLAN_TREE_H
#define PLH_PLAN_TREE_H

#include "nodes/execnodes.h"

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

/* The result belongs to the current memory context. */
extern PlhPlanTree *plh_plan_tree_read(PlanState *top);

/* Have each node tell the sampler when it runs, which has places for all of them. */
extern void plh_plan_tree_watch(PlanState *top);

#endif							/* PLH_PLAN_TREE_H */
