/*
 * plan_workers.h
 *	  What parallel workers tell their leader of the nodes that they ran.
 *
 * The leader offers shared memory before they start, which they find by its pid.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PLAN_WORKERS_H
#define PLH_PLAN_WORKERS_H

#include "sampler/plan_nodes.h"

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

/*
 * The leader's.  "offer" may be made once, and returns false if there is no room, or no
 * way to tell workers; "ids" is the number of nodes' ids, and "statement" the text that
 * workers get.  The others return NULL for nothing.
 */
extern bool plh_plan_workers_offer(int ids, const char *statement);
extern const PlhWorkerTotal *plh_plan_workers_total(int worker);
extern const PlhWorkerNode *plh_plan_workers_node(int worker, int id);
extern void plh_plan_workers_withdraw(void);

/* A worker's: is its leader's statement watched?  Then it tells of it at the end. */
extern bool plh_plan_workers_join(const char *statement);
extern void plh_plan_workers_tell(void);

#endif							/* PLH_PLAN_WORKERS_H */
