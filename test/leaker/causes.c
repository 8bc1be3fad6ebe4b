/*
 * causes.c
 *	  Memory of one cause that many call sites, or many stacks, have: a planner's hook, a
 *	  worker's loop, a comparison that a sort calls.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "postmaster/bgworker.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(keep_planned);
PG_FUNCTION_INFO_V1(compare_and_keep);
PG_FUNCTION_INFO_V1(start_keeping);
PG_FUNCTION_INFO_V1(keep_one);
PG_FUNCTION_INFO_V1(keep_other);
PG_FUNCTION_INFO_V1(keep_on_two_ways);
PG_FUNCTION_INFO_V1(keep_deep);

extern PGDLLEXPORT void keeping_main(Datum arg);

static planner_hook_type planner_before;

static pg_noinline void *
kept(Size bytes)
{
	return memset(MemoryContextAlloc(TopMemoryContext, bytes), 0, bytes);
}

/* What is kept of a statement: its text, its tables, and its names. */
static pg_noinline void
keep_text(const char *text)
{
	char	   *copy = MemoryContextAllocZero(TopMemoryContext, 7000);

	strlcpy(copy, text, 7000);
}

static pg_noinline void
keep_tables(const Query *query)
{
	for (int i = 0; i < 10; i++)
		memset(MemoryContextAlloc(TopMemoryContext, 900), list_length(query->rtable), 900);
}

static pg_noinline void
keep_names(const Query *query)
{
	for (int i = 0; i < 30; i++)
		memset(MemoryContextAlloc(TopMemoryContext, 300), list_length(query->targetList), 300);
}

/* From 19 on, a planner is told of the EXPLAIN that it plans for. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS \
	Query *query, const char *text, int options, ParamListInfo parameters, ExplainState *es
#define PLANNER_ARGUMENTS	query, text, options, parameters, es
#else
#define PLANNER_PARAMETERS	Query *query, const char *text, int options, ParamListInfo parameters
#define PLANNER_ARGUMENTS	query, text, options, parameters
#endif

static PlannedStmt *
plan_and_keep(PLANNER_PARAMETERS)
{
	PlannedStmt *plan = (planner_before != NULL ? planner_before : standard_planner)
		(PLANNER_ARGUMENTS);

	keep_text(text);
	keep_tables(query);
	keep_names(query);
	return plan;
}

/* keep_planned(): from now on, something of each statement that is planned is kept. */
Datum
keep_planned(PG_FUNCTION_ARGS)
{
	if (planner_hook != plan_and_keep)
	{
		planner_before = planner_hook;
		planner_hook = plan_and_keep;
	}
	PG_RETURN_VOID();
}

/*
 * compare_and_keep(int, int): a comparison that leaves a copy of a value each time.  After a
 * million of them it sleeps, so that a sort is seen while it runs.
 */
Datum
compare_and_keep(PG_FUNCTION_ARGS)
{
	int32		left = PG_GETARG_INT32(0);
	int32		right = PG_GETARG_INT32(1);

	static int	compared;

	memset(palloc(200), 0, 200);
	if (++compared == 1000000)
		DirectFunctionCall1(pg_sleep, Float8GetDatum(3600));
	PG_RETURN_INT32(left < right ? -1 : left > right);
}

/* start_keeping(library text, name text): a background worker that keeps three things in each round. */
Datum
start_keeping(PG_FUNCTION_ARGS)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_function_name = "keeping_main"
	};

	strlcpy(worker.bgw_name, "keeper of things", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "keeper of things", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, TextDatumGetCString(PG_GETARG_DATUM(0)),
			sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_extra, TextDatumGetCString(PG_GETARG_DATUM(1)), BGW_EXTRALEN);
	PG_RETURN_BOOL(RegisterDynamicBackgroundWorker(&worker, NULL));
}

void
keeping_main(Datum arg)
{
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	SetConfigOption("application_name", MyBgworkerEntry->bgw_extra, PGC_USERSET, PGC_S_SESSION);
	BackgroundWorkerInitializeConnection("postgres", NULL, 0);
	SetConfigOption("application_name", MyBgworkerEntry->bgw_extra, PGC_USERSET, PGC_S_SESSION);
	MemoryContextSwitchTo(TopMemoryContext);
	for (;;)
	{
		for (int i = 0; i < 20; i++)
		{
			memset(palloc(1000), 0, 1000);
			memset(palloc(900), 0, 900);
			memset(palloc(800), 0, 800);
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* keep_one(), keep_other(): two functions that keep something, and have nothing in common. */
Datum
keep_one(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 10; i++)
		memset(MemoryContextAlloc(TopMemoryContext, 1000), 0, 1000);
	PG_RETURN_VOID();
}

Datum
keep_other(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 10; i++)
		memset(MemoryContextAlloc(TopMemoryContext, 700), 0, 700);
	PG_RETURN_VOID();
}

static pg_noinline void
keep_here(int chunks)
{
	for (int i = 0; i < chunks; i++)
		kept(1000);
}

static pg_noinline void
keep_there(int chunks)
{
	for (int i = 0; i < chunks; i++)
		kept(1000);
}

/* keep_on_two_ways(): what one function keeps, called by two others. */
Datum
keep_on_two_ways(PG_FUNCTION_ARGS)
{
	keep_here(10);
	keep_there(8);
	PG_RETURN_VOID();
}

static pg_noinline int
keep_at_depth(int depth)
{
	if (depth > 0)
		return 1 + keep_at_depth(depth - 1);
	memset(palloc(1000), 0, 1000);
	return 0;
}

/* keep_deep(chunks): a recursion of all depths keeps chunks in the context of its caller. */
Datum
keep_deep(PG_FUNCTION_ARGS)
{
	MemoryContext before = MemoryContextSwitchTo(TopTransactionContext);
	int			depths = 0;

	for (int i = 0; i < PG_GETARG_INT32(0); i++)
		depths += keep_at_depth(i % 40);
	MemoryContextSwitchTo(before);
	PG_RETURN_INT32(depths);
}
