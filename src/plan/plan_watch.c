/*
 * plan_watch.c
 *	  Watches a statement of EXPLAIN (ANALYZE), in its session and in its parallel
 *	  workers.
 *
 * EXPLAIN does not say which execution is its own: it is the next one with
 * instrumentation.  While that runs, those of functions within are left alone.
 * auto_explain may have statements instrumented that functions run while the plan is
 * made; these are watched, too, and the result of the last one is what is printed.
 *
 * Where nothing is watched, each start and end of an execution asks one variable.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"

#include "plan/plan_watch.h"
#include "process/process.h"
#include "profile/bounded_growth.h"
#include "profile/profile_file.h"
#include "profile/profile_recycling.h"
#include "sampler/owner.h"

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

/*
 * A build for tests of the server may watch each statement that is instrumented, with
 * nobody to tell.
 */
#ifndef PLH_WATCH_ALL
#define PLH_WATCH_ALL 0
#endif

static ExecutorStart_hook_type prev_ExecutorStart_hook;
static ExecutorFinish_hook_type prev_ExecutorFinish_hook;

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
	watch.profile_bytes = plh_bounded_growth_begin(watch.is_bounded);
	watch.stage = EXPECTING;
	return NULL;
}

/* What is allocated from now on does not count; figures and sites stay. */
static void
stop_sampling(void)
{
	plh_plan_nodes_stop();
	plh_bounded_growth_end(watch.is_bounded, watch.profile_bytes);
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

/* MemoryContextCallbackFunction */
static void
end_unasked(void *arg)
{
	plh_plan_watch_end(arg);
}

/* Is that a statement that only such a build watches? */
static bool
is_unasked(const QueryDesc *query, int eflags)
{
	return query->instrument_options != 0 && !(eflags & EXEC_FLAG_EXPLAIN_ONLY) &&
		!IsParallelWorker() &&
		(watch.stage == IDLE || (watch.stage == TOLD && watch.take == count_result));
}

/* Watch a statement that nobody has asked for, until its caller's memory goes. */
static void
watch_unasked(void)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	if (plh_plan_watch_expect(count_result, callback) != NULL)
		return;
	callback->func = end_unasked;
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

	if (watch.memory != NULL)
		MemoryContextSwitchTo(watch.memory);
	watch.tree = plh_plan_tree_read(query->planstate);
	MemoryContextSwitchTo(caller_memory);
	watch.query = query;
	watch.stage = RUNNING;
	if (watch.take != NULL && watch.tree->has_workers)
		watch.lacks_workers = !plh_plan_result_offer_to_workers(watch.tree->ids, query->sourceText);
	if (plh_plan_nodes_expect(watch.tree->ids))
		plh_plan_tree_watch(query->planstate);
	plh_plan_nodes_current = PLH_STAGE_BETWEEN;
}

static void
call_next_start(QueryDesc *query, int eflags)
{
	if (prev_ExecutorStart_hook != NULL)
		prev_ExecutorStart_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

/* ExecutorStart_hook */
static void
start_executor(QueryDesc *query, int eflags)
{
	bool		follows = false;

	if (PLH_WATCH_ALL && is_unasked(query, eflags))
		watch_unasked();
	if (unlikely(watch.stage != IDLE))
		follows = is_expected(query, eflags) && (watch.stage != TOLD || begin_again());
	else if (unlikely(IsParallelWorker()))
		follows = joins_leader(query);
	if (follows)
		plh_plan_nodes_current = PLH_STAGE_START;
	call_next_start(query, eflags);
	if (follows)
		follow(query);
}

static void
call_next_finish(QueryDesc *query)
{
	if (prev_ExecutorFinish_hook != NULL)
		prev_ExecutorFinish_hook(query);
	else
		standard_ExecutorFinish(query);
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
	call_next_finish(query);
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
