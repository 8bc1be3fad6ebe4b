/*
 * plan_bounds.c
 *	  What settings allow to all nodes of a plan together, parallel workers included.
 *
 * This code runs inside palloc.
 *
 * A subplan counts once, for the leader: which node it belongs to is known to expressions only.
 */
#include "postgres.h"

#include "sampler/plan_bounds.h"

/* What lies deeper, or behind so many nodes, does not count. */
#define MOST_DEPTH 200
#define MOST_VISITED 4096

static void add_plan(PlhPlanBounds *bounds, const Plan *plan, uint32 processes, int depth);

/* The hash tables that an aggregate may have at a time: one of each grouping set. */
static uint32
hashes_of(const Agg *agg)
{
	uint32		hashes = agg->aggstrategy == AGG_HASHED || agg->aggstrategy == AGG_MIXED;
	const ListCell *cell;

	foreach(cell, agg->chain)
		hashes += ((const Agg *) lfirst(cell))->aggstrategy == AGG_HASHED;
	return hashes;
}

/* What a node has itself. */
static void
count(PlhPlanBounds *bounds, const Plan *plan, uint32 processes)
{
	uint32		sorts = 0;
	uint32		hashes = 0;

	switch (nodeTag(plan))
	{
		case T_Sort:
		case T_Material:
		case T_WindowAgg:
		case T_FunctionScan:
		case T_TableFuncScan:
		case T_CteScan:
			sorts = 1;
			break;
		case T_IncrementalSort: /* of prefixes, and of what has the same one */
			sorts = 2;
			break;
		case T_Hash:
		case T_Memoize:
			hashes = 1;
			break;
		case T_Agg:
			hashes = hashes_of((const Agg *) plan);
			break;
		default:
			break;
	}
	bounds->nodes += sorts + hashes;
	bounds->sorts += sorts * processes;
	bounds->hashes += hashes * processes;
}

static void
add_plans(PlhPlanBounds *bounds, const List *plans, uint32 processes, int depth)
{
	const ListCell *cell;

	foreach(cell, plans)
		add_plan(bounds, lfirst(cell), processes, depth);
}

/* The nodes below, but for the two that each node may have. */
static void
add_members(PlhPlanBounds *bounds, const Plan *plan, uint32 processes, int depth)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			add_plans(bounds, ((const Append *) plan)->appendplans, processes, depth);
			break;
		case T_MergeAppend:
			add_plans(bounds, ((const MergeAppend *) plan)->mergeplans, processes, depth);
			break;
		case T_BitmapAnd:
			add_plans(bounds, ((const BitmapAnd *) plan)->bitmapplans, processes, depth);
			break;
		case T_BitmapOr:
			add_plans(bounds, ((const BitmapOr *) plan)->bitmapplans, processes, depth);
			break;
		case T_SubqueryScan:
			add_plan(bounds, ((const SubqueryScan *) plan)->subplan, processes, depth);
			break;
		case T_CustomScan:
			add_plans(bounds, ((const CustomScan *) plan)->custom_plans, processes, depth);
			break;
		default:
			break;
	}
}

/* The parallel workers that a node starts for what is below it. */
static uint32
workers_of(const Plan *plan)
{
	int			workers = nodeTag(plan) == T_Gather ? ((const Gather *) plan)->num_workers :
		nodeTag(plan) == T_GatherMerge ? ((const GatherMerge *) plan)->num_workers : 0;

	return Max(workers, 0);
}

static void
add_plan(PlhPlanBounds *bounds, const Plan *plan, uint32 processes, int depth)
{
	uint32		workers;

	if (plan == NULL || depth > MOST_DEPTH || bounds->visited++ >= MOST_VISITED)
		return;
	count(bounds, plan, processes);
	workers = workers_of(plan);
	bounds->workers += workers;
	processes += workers;
	add_plan(bounds, plan->lefttree, processes, depth + 1);
	add_plan(bounds, plan->righttree, processes, depth + 1);
	add_members(bounds, plan, processes, depth + 1);
}

void
plh_plan_bounds_add(PlhPlanBounds *bounds, const PlannedStmt *statement)
{
	if (statement->utilityStmt != NULL)
		return;
	add_plan(bounds, statement->planTree, 1, 0);
	add_plans(bounds, statement->subplans, 1, 0);
}

void
plh_plan_bounds_add_statements(PlhPlanBounds *bounds, const List *statements)
{
	const ListCell *cell;

	foreach(cell, statements)
		plh_plan_bounds_add(bounds, lfirst_node(PlannedStmt, cell));
}

int64
plh_plan_bounds_bytes(const PlhPlanBounds *bounds, const PlhProfileHeader *header)
{
	return (int64) bounds->sorts * header->sort_memory_bytes +
		(int64) bounds->hashes * header->node_memory_bytes;
}
