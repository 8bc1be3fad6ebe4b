/*
 * plan_estimate.c
 *	  What a plan may take that has not run: each of its nodes, and all together.
 *
 * The walk goes as that over a plan which is watched (plan_watch.c).  A subplan is run by the
 * processes that run its node: that of a Gather not by its workers.
 */
#include "postgres.h"

#include "jit/jit.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"

#include "base/compat.h"
#include "plan/node_bound.h"
#include "plan/plan_estimate.h"

/* A subplan that is going to be visited. */
typedef struct Subplan
{
	int			id;				/* of its top node */
	const char *name;
	int			processes;
} Subplan;

/* The state of a walk. */
typedef struct Walk
{
	PlhPlanEstimate *estimate;
	Bitmapset  *seen;			/* ids */
	Bitmapset  *counted_ctes;	/* their plans */
	int64		shared_bytes;	/* without segments */
	List	   *subplans;		/* of Subplan, of the nodes above */
	int			depth;
	int			processes;
} Walk;

/* How many processes run what is below a node. */
static int
processes_below(const Plan *plan, int processes)
{
	int			workers;

	if (IsA(plan, Gather))
		workers = ((const Gather *) plan)->num_workers;
	else if (IsA(plan, GatherMerge))
		workers = ((const GatherMerge *) plan)->num_workers;
	else
		return processes;
	if (IsA(plan, Gather) && ((const Gather *) plan)->single_copy)
		return processes;
	return Max(workers + parallel_leader_participation, 1);
}

/* What a node is expected to hold, in all processes: not what goes to disk. */
static int64
expected_bytes(const PlhNodeEstimate *node)
{
	int64		bytes = Max(node->planned_bytes, 0);

	if (node->kind == PLH_BOUND_SETTINGS)
		bytes = Min(bytes, node->bytes + node->shared_bytes);
	return node->shared_bytes > 0 ? bytes : bytes * node->processes;
}

static void
add_up(Walk *walk, const PlhNodeEstimate *node)
{
	PlhPlanEstimate *estimate = walk->estimate;

	estimate->nodes = lappend(estimate->nodes, unconstify(PlhNodeEstimate *, node));
	estimate->unknown += node->kind == PLH_BOUND_UNKNOWN;
	estimate->processes = Max(estimate->processes, node->processes);
	estimate->private_bytes += node->bytes * node->processes;
	estimate->planned_bytes += expected_bytes(node);
	walk->shared_bytes += node->shared_bytes;
	estimate->has_shared_hash |= node->has_shared_hash;
}

static void
note_subplans(Walk *walk, const List *states)
{
	ListCell   *cell;

	foreach(cell, states)
	{
		const SubPlanState *state = lfirst_node(SubPlanState, cell);
		Subplan    *subplan = palloc(sizeof(Subplan));

		subplan->id = state->planstate->plan->plan_node_id;
		subplan->name = PLH_SUBPLAN_NAME(state->subplan);
		subplan->processes = walk->processes;
		walk->subplans = lappend(walk->subplans, subplan);
	}
}

/* The subplan of which that is the top node; NULL: it is of none. */
static const Subplan *
find_subplan(const Walk *walk, int id)
{
	ListCell   *cell;

	foreach(cell, walk->subplans)
	{
		if (((const Subplan *) lfirst(cell))->id == id)
			return lfirst(cell);
	}
	return NULL;
}

static void
estimate_node(Walk *walk, PlanState *planstate, const Subplan *subplan)
{
	PlhNodeEstimate *node = plh_node_estimate_make(planstate, walk->processes,
												   &walk->counted_ctes);

	node->depth = walk->depth;
	if (subplan != NULL)
		node->label = psprintf("%s: %s", subplan->name, node->label);
	add_up(walk, node);
}

/* planstate_tree_walker's: a node, and what is below it. */
static bool
visit(PlanState *planstate, void *context)
{
	Walk	   *walk = context;
	int			id = planstate->plan->plan_node_id;
	int			processes = walk->processes;
	const Subplan *subplan;

	if (bms_is_member(id, walk->seen))
		return false;
	walk->seen = bms_add_member(walk->seen, id);
	subplan = find_subplan(walk, id);
	if (subplan != NULL)
		walk->processes = subplan->processes;
	estimate_node(walk, planstate, subplan);
	note_subplans(walk, planstate->initPlan);
	note_subplans(walk, planstate->subPlan);
	walk->processes = processes_below(planstate->plan, walk->processes);
	walk->depth++;
	(void) planstate_tree_walker(planstate, visit, walk);
	walk->depth--;
	walk->processes = processes;
	return false;
}

void
plh_plan_estimate_add(PlhPlanEstimate *estimate, const QueryDesc *query)
{
	Walk		walk = {.estimate = estimate,.processes = 1};

	estimate->has_jit |= (query->plannedstmt->jitFlags & PGJIT_PERFORM) != 0;
	(void) visit(query->planstate, &walk);
	estimate->shared_bytes += plh_node_bound_segments(walk.shared_bytes);
}
