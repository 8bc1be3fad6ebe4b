/*
 * plan_watch.c
 *	  Watches a statement of EXPLAIN (ANALYZE), in its session and in its parallel workers.
 *
 * EXPLAIN does not say which execution is its own: it is the next one with instrumentation.  While
 * that runs, those of functions within are left alone.  auto_explain may have statements
 * instrumented that functions run while the plan is made; these are watched, too, and the result of
 * the last one is what is printed.
 *
 * Where nothing is watched, each start and end of an execution asks one variable.
 *
 * Each node's own function is replaced by one that calls it, below the function that takes its
 * time.  A Hash Join whose hash table is shared gets another function when workers are about to
 * start: the nodes below it see that, and replace this one, too.
 *
 * Hash tables and bitmaps are made by functions that nothing can be put before.  Whether one of
 * these runs is what its instrumentation knows (sampler/plan_nodes.c): it is given a start time,
 * even if EXPLAIN is to show none.
 *
 * A hash table that all workers share lies in dynamic shared memory, which no process has allocated
 * for itself: nothing is known of it here.
 *
 * The walk over a plan goes as EXPLAIN's own.  Of several references to one subplan it prints the
 * first.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/nodeAgg.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "plan/plan_watch.h"
#include "process/process.h"
#include "profile/profile_file.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "sampler/doorbell.h"
#include "sampler/live_samples.h"
#include "sampler/owner.h"

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

typedef enum Stage
{
	IDLE,
	EXPECTING,					/* the statement is planned */
	RUNNING,
	TOLD						/* it has run */
} Stage;

static struct
{
	Stage		stage;
	PlhPlanTaker take;			/* NULL in a parallel worker */
	void	   *taker;
	MemoryContext memory;
	bool		is_bounded;
	Size		profile_bytes;	/* of records, before */
	const QueryDesc *query;		/* that runs */
	const PlhPlanTree *tree;
	bool		lacks_workers;
}			watch;

/* A build for tests may watch each statement that is instrumented, with nobody to tell. */
#ifndef PLH_WATCH_ALL
#define PLH_WATCH_ALL 0
#endif

static ExecutorStart_hook_type prev_ExecutorStart_hook;
static ExecutorFinish_hook_type prev_ExecutorFinish_hook;

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

/* Read the nodes of a plan.  The result belongs to the current memory context. */
static PlhPlanTree *
read_tree(PlanState *top)
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

	if (unlikely(node->parallel_join != NULL) && node->parallel_join->ExecProcNodeReal != run_node)
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

/* Some hash tables' arrays were allocated while the plan was made ready, for no known node. */
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

/* Have each node tell the sampler, which has places for all of them, when it runs. */
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

/* Begin to sample.  Returns NULL, or a sentence that says why not. */
static const char *
begin_sampling(void)
{
	if (plh_profile == NULL && !plh_owner_begin_profile())
		return "There is no memory for a profile.";
	if (!plh_plan_nodes_begin())
		return "There is no memory to follow it, or pg_leakhunt_check is running.";
	plh_profile_recycling_suspend();
	watch.is_bounded = !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	watch.profile_bytes = plh_profile_records_begin_bounded(watch.is_bounded);
	watch.stage = EXPECTING;
	return NULL;
}

/* What is allocated from now on does not count; figures and sites stay. */
static void
stop_sampling(void)
{
	plh_plan_nodes_stop();
	plh_profile_records_end_bounded(watch.is_bounded, watch.profile_bytes);
}

static void
end(void)
{
	if (watch.stage == EXPECTING || watch.stage == RUNNING)
		stop_sampling();
	plh_profile_recycling_resume();
	plh_plan_nodes_end();
	plh_plan_result_withdraw_offer();
	memset(&watch, 0, sizeof(watch));
}

const char *
plh_plan_watch_expect(PlhPlanTaker take, void *taker)
{
	const char *problem = plh_process_refusal();

	if (problem != NULL)
		return problem;
	if (IsParallelWorker() || watch.stage == EXPECTING || watch.stage == RUNNING)
		return "The statement of another EXPLAIN (LEAKHUNT) is running, and this one within it.";
	if (watch.stage == TOLD)
		end();
	problem = begin_sampling();
	if (problem != NULL)
		return problem;
	watch.take = take;
	watch.taker = taker;
	watch.memory = CurrentMemoryContext;
	return NULL;
}

void
plh_plan_watch_end(void *taker)
{
	if (watch.stage != IDLE && watch.taker == taker)
		end();
}

/* PlhPlanTaker: the log says how many statements there were. */
static void
count_result(PlhPlanResult *result, void *taker)
{
	elog(LOG_SERVER_ONLY, "pg_leakhunt has watched %d nodes", result->tree->count);
}

/* Is that a statement that only such a build watches? */
static bool
is_unasked(const QueryDesc *query, int eflags)
{
	return query->instrument_options != 0 && !(eflags & EXEC_FLAG_EXPLAIN_ONLY) &&
		!IsParallelWorker() &&
		(watch.stage == IDLE || (watch.stage == TOLD && watch.take == count_result));
}

/* Watch it until the memory context of its caller goes. */
static void
watch_unasked(void)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	if (plh_plan_watch_expect(count_result, callback) != NULL)
		return;
	callback->func = plh_plan_watch_end;
	callback->arg = callback;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

/* Is that the statement to watch, or a later one of the same EXPLAIN? */
static bool
is_expected(const QueryDesc *query, int eflags)
{
	return (watch.stage == EXPECTING || watch.stage == TOLD) &&
		query->instrument_options != 0 && !(eflags & EXEC_FLAG_EXPLAIN_ONLY);
}

/* Begin anew for a further statement, the planning of which is over. */
static bool
begin_again(void)
{
	plh_profile_recycling_resume();
	if (begin_sampling() == NULL)
		return true;
	plh_plan_nodes_end();
	memset(&watch, 0, sizeof(watch));
	return false;
}

/* Does a parallel worker's leader watch what is about to run? */
static bool
joins_leader(const QueryDesc *query)
{
	if (watch.stage != IDLE || query->instrument_options == 0 ||
		plh_process_refusal() != NULL || !plh_plan_result_join_leader(query->sourceText))
		return false;
	if (begin_sampling() == NULL)
		return true;
	plh_plan_result_withdraw_offer();
	return false;
}

/* The plan has been made ready to run: follow its nodes. */
static void
follow(const QueryDesc *query)
{
	MemoryContext caller_memory = CurrentMemoryContext;
	Watching	watching = {.caller = PLH_STAGE_BETWEEN};

	if (watch.memory != NULL)
		MemoryContextSwitchTo(watch.memory);
	watch.tree = read_tree(query->planstate);
	MemoryContextSwitchTo(caller_memory);
	watch.query = query;
	watch.stage = RUNNING;
	if (watch.take != NULL && watch.tree->has_workers)
		watch.lacks_workers = !plh_plan_result_offer_to_workers(watch.tree->ids, query->sourceText);
	if (plh_plan_nodes_expect(watch.tree->ids))
		(void) watch_node(query->planstate, &watching);
	plh_plan_nodes_current = PLH_STAGE_BETWEEN;
}

/*
 * ExecutorStart_hook.  A statement may take all of its memory while it is planned, or in one
 * expression, with no sample behind that in which the bell could be hung: so it is hung now.
 */
static void
start_executor(QueryDesc *query, int eflags)
{
	bool		follows = false;

	plh_doorbell_hang_at_once();
	if (PLH_WATCH_ALL && is_unasked(query, eflags))
		watch_unasked();
	if (unlikely(watch.stage != IDLE))
		follows = is_expected(query, eflags) && (watch.stage != TOLD || begin_again());
	else if (unlikely(IsParallelWorker()))
		follows = joins_leader(query);
	if (follows)
		plh_plan_nodes_current = PLH_STAGE_START;
	if (prev_ExecutorStart_hook != NULL)
		prev_ExecutorStart_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (follows)
		follow(query);
}

/* The leader's statement has run: tell of it. */
static void
tell_taker(void)
{
	MemoryContext caller_memory = MemoryContextSwitchTo(watch.memory);
	PlhPlanResult *result = plh_plan_result_take(watch.query->plannedstmt, watch.tree,
												 watch.lacks_workers);

	plh_plan_result_withdraw_offer();
	watch.stage = TOLD;
	watch.query = NULL;
	watch.take(result, watch.taker);
	MemoryContextSwitchTo(caller_memory);
}

/* ExecutorFinish_hook */
static void
finish_executor(QueryDesc *query)
{
	bool		is_watched = watch.stage == RUNNING && watch.query == query;

	if (is_watched)
		plh_plan_nodes_current = PLH_STAGE_FINISH;
	if (prev_ExecutorFinish_hook != NULL)
		prev_ExecutorFinish_hook(query);
	else
		standard_ExecutorFinish(query);
	if (!is_watched)
		return;
	stop_sampling();
	if (watch.take != NULL)
		tell_taker();
	else
	{
		plh_plan_result_tell_leader();
		watch.stage = TOLD;
		end();
	}
}

void
plh_plan_watch_start(void)
{
	prev_ExecutorStart_hook = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	prev_ExecutorFinish_hook = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
}
