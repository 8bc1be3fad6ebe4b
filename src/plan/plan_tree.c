/*
 * plan_tree.c
 *	  The nodes of a plan that is about to run: tells the sampler which of them runs.
 *
 * Each node's own function is replaced by one that calls it, below the function that
 * takes its time.  A Hash Join whose hash table is shared gets another function when
 * workers are about to start: the nodes below it see that, and replace this one, too.
 *
 * Hash tables and bitmaps are made by functions that nothing can be put before.  Whether
 * one of these runs is what its instrumentation knows (sampler/plan_nodes.c): it is
 * given a start time, even if EXPLAIN is to show none.
 *
 * A hash table that all workers share lies in dynamic shared memory, which no process
 * has allocated for itself: nothing is known of it here.
 *
 * The walk goes as EXPLAIN's own.  Of several references to one subplan it prints the
 * first.
 */
#include "postgres.h"

#include "executor/hashjoin.h"
#include "executor/instrument.h"
#include "executor/nodeAgg.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "base/compat.h"
#include "plan/plan_tree.h"
#include "sampler/live_samples.h"
#include "sampler/plan_nodes.h"

/* The state of a walk that reads. */
typedef struct Reading
{
	PlhPlanTree *tree;
	int			room;			/* of its nodes */
	Bitmapset  *seen;			/* ids */
} Reading;

/* The state of a walk that watches. */
typedef struct Watching
{
	PlanState  *parallel_join;	/* nearest one above */
	uint32		caller;			/* place of the node above */
} Watching;

static inline PlhPlanNode *
node_of(const PlanState *planstate)
{
	return &plh_plan_nodes[PLH_PLAN_PLACE(planstate->plan->plan_node_id)];
}

/* Does the node have a hash table that hash_mem_multiplier is for? */
static bool
is_by_hash(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Hash:
		case T_HashJoin:
		case T_Memoize:
			return true;
		case T_Agg:
			return ((const Agg *) plan)->aggstrategy == AGG_HASHED ||
				((const Agg *) plan)->aggstrategy == AGG_MIXED;
		case T_SetOp:
			return ((const SetOp *) plan)->strategy == SETOP_HASHED;
		case T_RecursiveUnion:
			return ((const RecursiveUnion *) plan)->numCols > 0;
		default:
			return false;
	}
}

static void
add_node(Reading *reading, const Plan *plan)
{
	PlhPlanTree *tree = reading->tree;
	PlhTreeNode *node;

	if (tree->count == reading->room)
	{
		reading->room *= 2;
		tree->nodes = repalloc(tree->nodes, sizeof(PlhTreeNode) * reading->room);
	}
	node = &tree->nodes[tree->count++];
	node->id = plan->plan_node_id;
	node->by_hash = is_by_hash(plan);
	node->is_shared = IsA(plan, Hash) && plan->parallel_aware;
	node->allowed_bytes = node->by_hash ? get_hash_memory_limit() : work_mem * INT64CONST(1024);
	tree->ids = Max(tree->ids, plan->plan_node_id + 1);
	tree->has_workers |= IsA(plan, Gather) || IsA(plan, GatherMerge);
}

static bool
read_node(PlanState *planstate, void *context)
{
	Reading    *reading = context;
	int			id = planstate->plan->plan_node_id;

	if (bms_is_member(id, reading->seen))
		return false;
	reading->seen = bms_add_member(reading->seen, id);
	add_node(reading, planstate->plan);
	return planstate_tree_walker(planstate, read_node, context);
}

PlhPlanTree *
plh_plan_tree_read(PlanState *top)
{
	Reading		reading = {.room = 16};

	reading.tree = palloc0(sizeof(PlhPlanTree));
	reading.tree->nodes = palloc(sizeof(PlhTreeNode) * reading.room);
	(void) read_node(top, &reading);
	bms_free(reading.seen);
	return reading.tree;
}

static TupleTableSlot *run_node(PlanState *planstate);

static void
replace_function(PlanState *planstate)
{
	node_of(planstate)->run = planstate->ExecProcNodeReal;
	planstate->ExecProcNodeReal = run_node;
}

/* ExecProcNodeMtd: run a node, which is current meanwhile. */
static TupleTableSlot *
run_node(PlanState *planstate)
{
	const PlhPlanNode *node = node_of(planstate);
	uint32		caller = plh_plan_nodes_current;
	TupleTableSlot *slot;

	if (unlikely(node->parallel_join != NULL) &&
		node->parallel_join->ExecProcNodeReal != run_node)
		replace_function(node->parallel_join);
	plh_plan_nodes_current = PLH_PLAN_PLACE(planstate->plan->plan_node_id);
	slot = node->run(planstate);
	plh_plan_nodes_current = caller;
	return slot;
}

/* Does a node return its result as a whole, so that it is not run as others are? */
static bool
returns_no_tuples(const PlanState *planstate)
{
	return IsA(planstate, HashState) || IsA(planstate, BitmapIndexScanState) ||
		IsA(planstate, BitmapAndState) || IsA(planstate, BitmapOrState);
}

/* A hash table is of the node that it was made for. */
static void
claim_table(TupleHashTable table, uint32 place)
{
	if (table != NULL && table->hashtab != NULL)
		plh_live_samples_give(table->hashtab->data, place);
}

/*
 * The arrays of some hash tables are allocated while the plan is made ready, when it is
 * not known for which node.
 */
static void
claim_tables(PlanState *planstate)
{
	uint32		place = PLH_PLAN_PLACE(planstate->plan->plan_node_id);

	if (IsA(planstate, AggState))
	{
		const AggState *agg = castNode(AggState, planstate);

		for (int i = 0; agg->perhash != NULL && i < agg->num_hashes; i++)
			claim_table(agg->perhash[i].hashtable, place);
	}
	else if (IsA(planstate, SetOpState))
		claim_table(castNode(SetOpState, planstate)->hashtable, place);
	else if (IsA(planstate, RecursiveUnionState))
		claim_table(castNode(RecursiveUnionState, planstate)->hashtable, place);
}

/* Watch a node that returns no tuples, and that the node at the place of a caller runs. */
static void
watch_callee(PlanState *planstate, uint32 caller)
{
	PlhPlanNode *node = node_of(planstate);

	if (planstate->instrument == NULL)
		return;
	PLH_NODE_TIMES(planstate->instrument)->need_timer = true;
	node->started = &PLH_NODE_TIMES(planstate->instrument)->starttime;
	node->next_callee = plh_plan_nodes[caller].first_callee;
	plh_plan_nodes[caller].first_callee = PLH_PLAN_PLACE(planstate->plan->plan_node_id);
}

/* Note what is peculiar to the node; "watching" becomes what is above its children. */
static void
watch_kind(PlanState *planstate, Watching *watching)
{
	PlhPlanNode *node = node_of(planstate);

	if (IsA(planstate, HashJoinState))
	{
		node->hash = PLH_PLAN_PLACE(innerPlanState(planstate)->plan->plan_node_id);
		if (planstate->plan->parallel_aware)
			watching->parallel_join = planstate;
	}
	if (returns_no_tuples(planstate))
		watch_callee(planstate, watching->caller);
	else
		replace_function(planstate);
	claim_tables(planstate);
	node->parallel_join = watching->parallel_join;
	watching->caller = PLH_PLAN_PLACE(planstate->plan->plan_node_id);
}

static bool
watch_node(PlanState *planstate, void *context)
{
	Watching	watching = *(const Watching *) context;

	if (node_of(planstate)->planstate != NULL)
		return false;
	node_of(planstate)->planstate = planstate;
	watch_kind(planstate, &watching);
	return planstate_tree_walker(planstate, watch_node, &watching);
}

void
plh_plan_tree_watch(PlanState *top)
{
	Watching	watching = {.caller = PLH_STAGE_BETWEEN};

	(void) watch_node(top, &watching);
}
