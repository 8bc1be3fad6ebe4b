/*
 * node_estimate.c
 *	  What a node of a plan may take that has not run: by which setting, and what the planner
 *	  expects.
 *
 * A hash table that the executor may not spill, as of a hashed subplan, is planned where it is
 * expected to fit, and then known no limit: it is told as not known, with what is expected.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "executor/hashjoin.h"
#include "executor/nodeAgg.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/regproc.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "base/size_units.h"
#include "plan/node_bound.h"
#include "plan/node_estimate.h"
#include "plan/node_label.h"
#include "plan/unlimited.h"

/* What a row has beside its data in a sort or a tuple store, and in a hash table. */
#define SORTED_ROW_BYTES 40
#define HASHED_ROW_BYTES 64

/* What an event of a trigger takes, with its part of a chunk. */
#define EVENT_BYTES 16

static int64
work_bytes(void)
{
	return work_mem * INT64CONST(1024);
}

static void
limit_by(PlhNodeEstimate *node, int64 bytes, const char *limit)
{
	node->kind = Max(node->kind, PLH_BOUND_SETTINGS);
	node->bytes += bytes;
	node->limit = limit;
}

static void
add_unknown(PlhNodeEstimate *node, const char *what)
{
	node->kind = PLH_BOUND_UNKNOWN;
	node->unknown = lappend(node->unknown, unconstify(char *, what));
}

/* What so many rows take, as the planner expects them. */
static int64
bytes_of_rows(double rows, int width, int beside)
{
	double		bytes = ceil(rows) * (MAXALIGN(width) + beside);

	return bytes > (double) (PG_INT64_MAX / 2) ? PG_INT64_MAX / 2 : (int64) bytes;
}

static void
expect(PlhNodeEstimate *node, int64 bytes)
{
	node->planned_bytes = Max(node->planned_bytes, 0) + bytes;
}

static void
expect_rows(PlhNodeEstimate *node, const Plan *rows, int beside)
{
	expect(node, bytes_of_rows(rows->plan_rows, rows->plan_width, beside));
}

/* Those that a shared hash table is for: the leader always counts. */
static int
participants_of(const PlhNodeEstimate *node)
{
	return node->processes + !parallel_leader_participation;
}

/* What a hash join's table is planned to be. */
typedef struct PlannedHash
{
	size_t		allowed_bytes;	/* by the planner */
	int			batches;
} PlannedHash;

static PlannedHash
plan_hash(const Hash *hash, int participants)
{
	const Plan *rows = outerPlan(hash);
	bool		is_shared = hash->plan.parallel_aware;
	PlannedHash planned;
	int			buckets;
	int			skew_values;

	ExecChooseHashTableSize(is_shared ? hash->rows_total : rows->plan_rows, rows->plan_width,
							OidIsValid(hash->skewTable), is_shared, participants - 1,
							&planned.allowed_bytes, &buckets, &planned.batches, &skew_values);
	planned.batches = plh_node_bound_batches(planned.batches);
	return planned;
}

static void
estimate_hash(PlhNodeEstimate *node, const Hash *hash)
{
	bool		is_shared = hash->plan.parallel_aware;
	const Plan *rows = outerPlan(hash);
	PlannedHash planned = plan_hash(hash, participants_of(node));
	int64		files_bytes = plh_node_bound_batch_files(planned.batches, is_shared);

	node->has_shared_hash = is_shared;
	if (is_shared)
		node->shared_bytes = plh_node_bound_shared_hash(get_hash_memory_limit(),
														participants_of(node));
	else
		files_bytes += plh_node_bound_hash(planned.allowed_bytes);
	limit_by(node, files_bytes,
			 psprintf("%sfiles of %d batches",
					  is_shared ? "" : "work_mem * hash_mem_multiplier, and ", planned.batches));
	expect(node, bytes_of_rows(is_shared ? hash->rows_total : rows->plan_rows, rows->plan_width,
							   HASHED_ROW_BYTES));
}

static void
estimate_hash_join(PlhNodeEstimate *node, const HashJoin *join)
{
	PlannedHash planned = plan_hash((const Hash *) innerPlan(join), participants_of(node));

	limit_by(node, plh_node_bound_batch_files(planned.batches, join->join.plan.parallel_aware),
			 psprintf("files of %d batches", planned.batches));
}

/* Sorts of the rows of one aggregate, for DISTINCT or ORDER BY, or one that sorts them anyhow. */
static bool
sorts_rows(const Aggref *aggregate)
{
	return AGGKIND_IS_ORDERED_SET(aggregate->aggkind) || aggregate->aggdistinct != NIL ||
		aggregate->aggorder != NIL;
}

/* How many grouping sets are hashed, and how many are sorted or come in order. */
typedef struct SetCounts
{
	int			hashed;
	int			ordered;
	int			sorts;			/* of what comes from below, once more */
} SetCounts;

/* Of a chain, each member but the first may have its input sorted anew. */
static void
count_sets(SetCounts *counts, const Agg *agg, bool is_first)
{
	if (agg->aggstrategy == AGG_HASHED || agg->aggstrategy == AGG_MIXED)
		counts->hashed++;
	else
		counts->ordered = Max(counts->ordered, list_length(agg->groupingSets));
	counts->sorts += !is_first && outerPlan(agg) != NULL;
}

static SetCounts
sets_of(const Agg *agg)
{
	SetCounts	counts = {0};
	ListCell   *cell;

	count_sets(&counts, agg, true);
	foreach(cell, agg->chain)
		count_sets(&counts, lfirst_node(Agg, cell), false);
	return counts;
}

/* The sorts of aggregates: each has one for each grouping set that comes in order. */
static int
count_sorts(PlhNodeEstimate *node, const AggState *state, const SetCounts *counts)
{
	/* of what is read, and of what is sorted for the next phase */
	int			sorts = Min(counts->sorts, 2);
	ListCell   *cell;

	foreach(cell, state->aggs)
	{
		const Aggref *aggregate = lfirst_node(Aggref, cell);

		if (plh_unlimited_is_aggregate(aggregate->aggfnoid))
			add_unknown(node, psprintf("aggregate %s", format_procedure(aggregate->aggfnoid)));
		if (sorts_rows(aggregate) && !DO_AGGSPLIT_COMBINE(aggregate->aggsplit))
			sorts += Max(counts->ordered, 1);
	}
	return sorts;
}

static void
estimate_aggregate(PlhNodeEstimate *node, const AggState *state)
{
	const Agg  *agg = (const Agg *) state->ss.ps.plan;
	SetCounts	counts = sets_of(agg);
	int			sorts = count_sorts(node, state, &counts);

	if (counts.hashed > 0)
	{
		limit_by(node, plh_node_bound_aggregate(get_hash_memory_limit(), counts.hashed),
				 "2 * work_mem * hash_mem_multiplier, and files");
		expect(node, bytes_of_rows(1, hash_agg_entry_size(list_length(state->aggs),
														  outerPlan(agg)->plan_width,
														  agg->transitionSpace) *
								   Max((double) agg->numGroups, 1), 0));
	}
	if (sorts > 0)
		limit_by(node, sorts * plh_node_bound_sort(work_bytes()),
				 counts.hashed > 0 ? "2 * work_mem * hash_mem_multiplier, and work_mem for each sort" :
				 sorts == 1 ? "work_mem, for a sort of its rows" :
				 psprintf("work_mem for each of %d sorts", sorts));
}

static void
estimate_window(PlhNodeEstimate *node, const WindowAggState *state)
{
	ListCell   *cell;

	limit_by(node, plh_node_bound_rows(work_bytes()), "work_mem");
	foreach(cell, state->funcs)
	{
		const WindowFunc *function = lfirst_node(WindowFuncExprState, cell)->wfunc;

		if (function->winagg && plh_unlimited_is_aggregate(function->winfnoid))
			add_unknown(node, psprintf("aggregate %s", format_procedure(function->winfnoid)));
	}
}

static void
estimate_function_scan(PlhNodeEstimate *node, const FunctionScan *scan)
{
	int			functions = list_length(scan->functions);
	ListCell   *cell;

	limit_by(node, functions * plh_node_bound_rows(work_bytes()),
			 functions == 1 ? "work_mem" : psprintf("work_mem for each of %d functions", functions));
	expect_rows(node, &scan->scan.plan, SORTED_ROW_BYTES);
	foreach(cell, scan->functions)
	{
		const FuncExpr *call = (const FuncExpr *) lfirst_node(RangeTblFunction, cell)->funcexpr;

		if (!IsA(call, FuncExpr))
			add_unknown(node, "what its expression keeps");
		else if (!plh_unlimited_returns_simply(call->funcid))
			add_unknown(node, psprintf("function %s", format_procedure(call->funcid)));
	}
}

/* Several scans of a CTE have its rows together: those are counted once. */
static void
estimate_cte_scan(PlhNodeEstimate *node, const CteScan *scan, Bitmapset **counted)
{
	if (bms_is_member(scan->ctePlanId, *counted))
	{
		node->limit = "its rows are counted where the CTE is scanned first";
		return;
	}
	*counted = bms_add_member(*counted, scan->ctePlanId);
	limit_by(node, plh_node_bound_rows(work_bytes()), "work_mem, for all scans of the CTE");
	expect_rows(node, &scan->scan.plan, SORTED_ROW_BYTES);
}

/* A bitmap that several processes read is in shared memory. */
static void
estimate_bitmap(PlhNodeEstimate *node, const BitmapIndexScan *scan)
{
	int64		bytes = plh_node_bound_bitmap(work_bytes());

	if (scan->isshared)
		node->shared_bytes = bytes;
	limit_by(node, scan->isshared ? 0 : bytes, "2.5 * work_mem");
	if (plh_unlimited_is_index(scan->indexid))
		add_unknown(node, "what its GIN index keeps, a bitmap of work_mem for each prefix");
}

static void
estimate_set_operation(PlhNodeEstimate *node, const SetOp *operation)
{
	if (operation->strategy != SETOP_HASHED)
		return;
	add_unknown(node, "its hash table, which no setting limits");
	expect(node, bytes_of_rows(operation->numGroups, operation->plan.plan_width,
							   HASHED_ROW_BYTES));
}

static void
estimate_recursion(PlhNodeEstimate *node, const RecursiveUnion *recursion)
{
	limit_by(node, 2 * plh_node_bound_rows(work_bytes()), "2 * work_mem");
	if (recursion->numCols > 0)
		add_unknown(node, "its hash table, which no setting limits");
}

static void
estimate_change(PlhNodeEstimate *node, const ModifyTableState *state)
{
	for (int i = 0; i < state->mt_nrels; i++)
	{
		const ResultRelInfo *relation = &state->resultRelInfo[i];

		if (relation->ri_FdwRoutine != NULL)
			add_unknown(node, "what the foreign table keeps");
		else if (plh_unlimited_leaves_events(relation->ri_TrigDesc, state->operation))
		{
			add_unknown(node, psprintf("events for triggers of %s, one for each row",
									   RelationGetRelationName(relation->ri_RelationDesc)));
			expect(node, bytes_of_rows(outerPlan(state->ps.plan)->plan_rows, 0, EVENT_BYTES));
			return;
		}
	}
}

/* Gather and Gather Merge pass rows through queues in shared memory. */
static void
estimate_gather(PlhNodeEstimate *node, int workers)
{
	node->shared_bytes = plh_node_bound_queues(workers);
	limit_by(node, 0, "queues of its workers");
}

/* Indexes that return rows in the order of distance keep those that wait. */
static void
estimate_index_scan(PlhNodeEstimate *node, const List *order)
{
	if (order != NIL)
		add_unknown(node, "what the index keeps to put rows in order");
}

/* A node's hashed subplans; what others do is in nodes of their own. */
static void
estimate_subplans(PlhNodeEstimate *node, const PlanState *planstate)
{
	ListCell   *cell;

	foreach(cell, planstate->subPlan)
	{
		const SubPlanState *state = lfirst_node(SubPlanState, cell);
		const Plan *rows = state->planstate->plan;

		if (!state->subplan->useHashTable)
			continue;
		expect_rows(node, rows, HASHED_ROW_BYTES);
		add_unknown(node, psprintf("the hash table of %s, which no setting limits",
								   PLH_SUBPLAN_NAME(state->subplan)));
	}
}

static void
estimate_functions(PlhNodeEstimate *node, const PlanState *planstate)
{
	ListCell   *cell;

	foreach(cell, plh_unlimited_functions(NIL, planstate))
	{
		char	   *text = psprintf("function %s", (char *) lfirst(cell));
		ListCell   *known;
		bool		is_known = false;

		foreach(known, node->unknown)
			is_known |= strcmp(lfirst(known), text) == 0;
		if (!is_known)
			add_unknown(node, text);
	}
}

static void
estimate_kind(PlhNodeEstimate *node, PlanState *planstate, Bitmapset **counted_ctes)
{
	Plan	   *plan = planstate->plan;

	switch (nodeTag(plan))
	{
		case T_Sort:
			limit_by(node, plh_node_bound_sort(work_bytes()), "work_mem");
			expect_rows(node, outerPlan(plan), SORTED_ROW_BYTES);
			break;
		case T_IncrementalSort:
			limit_by(node, 2 * plh_node_bound_sort(work_bytes()), "2 * work_mem");
			break;
		case T_Material:
			limit_by(node, plh_node_bound_rows(work_bytes()), "work_mem");
			expect_rows(node, outerPlan(plan), SORTED_ROW_BYTES);
			break;
		case T_TableFuncScan:
			limit_by(node, plh_node_bound_rows(work_bytes()), "work_mem");
			add_unknown(node, "the document that is read");
			break;
		case T_Memoize:
			limit_by(node, plh_node_bound_memoize(get_hash_memory_limit()),
					 "2.5 * work_mem * hash_mem_multiplier");
			break;
		case T_Hash:
			estimate_hash(node, (const Hash *) plan);
			break;
		case T_HashJoin:
			estimate_hash_join(node, (const HashJoin *) plan);
			break;
		case T_Agg:
			estimate_aggregate(node, (const AggState *) planstate);
			break;
		case T_WindowAgg:
			estimate_window(node, (const WindowAggState *) planstate);
			break;
		case T_FunctionScan:
			estimate_function_scan(node, (const FunctionScan *) plan);
			break;
		case T_CteScan:
			estimate_cte_scan(node, (const CteScan *) plan, counted_ctes);
			break;
		case T_BitmapIndexScan:
			estimate_bitmap(node, (const BitmapIndexScan *) plan);
			break;
		case T_SetOp:
			estimate_set_operation(node, (const SetOp *) plan);
			break;
		case T_RecursiveUnion:
			estimate_recursion(node, (const RecursiveUnion *) plan);
			break;
		case T_ModifyTable:
			estimate_change(node, (const ModifyTableState *) planstate);
			break;
		case T_Gather:
			estimate_gather(node, ((const Gather *) plan)->num_workers);
			break;
		case T_GatherMerge:
			estimate_gather(node, ((const GatherMerge *) plan)->num_workers);
			break;
		case T_IndexScan:
			estimate_index_scan(node, ((const IndexScan *) plan)->indexorderby);
			break;
		case T_IndexOnlyScan:
			estimate_index_scan(node, ((const IndexOnlyScan *) plan)->indexorderby);
			break;
		case T_ForeignScan:
			add_unknown(node, "what the foreign table keeps");
			break;
		case T_CustomScan:
			add_unknown(node, "what the extension's node keeps");
			break;
		default:
			break;
	}
}

PlhNodeEstimate *
plh_node_estimate_make(PlanState *planstate, int processes, Bitmapset **counted_ctes)
{
	PlhNodeEstimate *node = palloc0(sizeof(PlhNodeEstimate));

	node->id = planstate->plan->plan_node_id;
	node->label = plh_node_label(planstate);
	node->processes = processes;
	node->planned_bytes = -1;
	estimate_kind(node, planstate, counted_ctes);
	estimate_subplans(node, planstate);
	estimate_functions(node, planstate);
	return node;
}
