/*
 * estimated_query.c
 *	  Plans a statement that does not run, and estimates what it would take.
 *
 * It is planned, and made ready to run, as EXPLAIN does it.  The planner may call functions that
 * are immutable, to have their results, and those that estimate for others.
 *
 * Some commands run the plan of a statement within them.  A prepared statement is analysed anew,
 * so that its cached plan stays as it is.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "check/checked_statement.h"
#include "plan/estimated_query.h"
#include "plan/node_bound.h"

/* Let blanks, and the semicolon behind the statement, be no part of it. */
static void
set_text(PlhEstimatedQuery *query, const char *text, const RawStmt *statement)
{
	query->text = text + Max(0, statement->stmt_location);
	query->text_bytes = statement->stmt_len > 0 ? statement->stmt_len : strlen(query->text);
	while (query->text_bytes > 0 && isspace((unsigned char) *query->text))
	{
		query->text++;
		query->text_bytes--;
	}
}

static RawStmt *
parse(const char *text)
{
	const List *parsed = plh_checked_statement_parse(text);

	if (list_length(parsed) != 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						parsed == NIL ? errmsg("there is no statement to estimate") :
						errmsg("pg_leakhunt_estimate takes one statement, not %d",
							   list_length(parsed)),
						parsed == NIL ? 0 : errhint("Call it for each statement.")));
	return linitial_node(RawStmt, parsed);
}

/* Analyse a statement.  The types of its parameters are guessed by where they stand. */
static List *
analyse(PlhEstimatedQuery *query, RawStmt *statement, const char *text)
{
	Oid		   *types = NULL;
	int			count = 0;
	List	   *queries = pg_analyze_and_rewrite_varparams(statement, text, &types, &count, NULL);

	query->is_generic |= count > 0;
	return queries;
}

/*
 * What EXECUTE runs: analysed anew, as planning changes it.  Calls that have been seen are those of
 * the EXECUTE, by which sessions know them.
 */
static List *
analyse_prepared(PlhEstimatedQuery *query, const ExecuteStmt *execute)
{
	const PreparedStatement *prepared = FetchPreparedStatement(execute->name, true);
	const CachedPlanSource *source = prepared->plansource;

	if (source->raw_parse_tree == NULL)
		return NIL;
	query->is_generic |= source->num_params > 0;
	return pg_analyze_and_rewrite_fixedparams(copyObject(source->raw_parse_tree),
											  source->query_string, source->param_types,
											  source->num_params, NULL);
}

/* Make an analysed query of a command ready to be planned. */
static List *
rewrite(const Node *query)
{
	return QueryRewrite(copyObject(castNode(Query, unconstify(Node *, query))));
}

/* The queries that a command runs plans of; NIL: it has none. */
static List *
queries_within(PlhEstimatedQuery *query, const Node *command, const char *text)
{
	RawStmt    *statement;

	switch (nodeTag(command))
	{
		case T_CreateTableAsStmt:
			return rewrite(((const CreateTableAsStmt *) command)->query);
		case T_DeclareCursorStmt:
			return rewrite(((const DeclareCursorStmt *) command)->query);
		case T_ExplainStmt:
			return rewrite(((const ExplainStmt *) command)->query);
		case T_ExecuteStmt:
			return analyse_prepared(query, (const ExecuteStmt *) command);
		case T_CopyStmt:
			if (((const CopyStmt *) command)->query == NULL)
				return NIL;
			statement = makeNode(RawStmt);
			statement->stmt = ((const CopyStmt *) command)->query;
			return analyse(query, statement, text);
		default:
			return NIL;
	}
}

/* Does a command build indexes, or remove dead rows, within maintenance_work_mem? */
static bool
is_maintenance(const Node *command)
{
	if (IsA(command, VacuumStmt))
		return ((const VacuumStmt *) command)->is_vacuumcmd;
	return IsA(command, IndexStmt) || IsA(command, ReindexStmt) ||
		nodeTag(command) == PLH_CLUSTER_TAG;
}

static void
estimate_command(PlhEstimatedQuery *query, Node *command)
{
	query->command = GetCommandTagName(CreateCommandTag(command));
	query->command_bytes = is_maintenance(command) ?
		plh_node_bound_sort(maintenance_work_mem * INT64CONST(1024)) : -1;
}

/* Error context callback: before 16, partitions are pruned by values that are not there. */
static void
hint_at_values(void *arg)
{
	if (geterrcode() == ERRCODE_UNDEFINED_OBJECT)
		errhint("Replace parameters such as $1 by values: partitions are chosen by them.");
}

/* Make a plan ready to run, as EXPLAIN does, and estimate it. */
static void
estimate_plan(PlhEstimatedQuery *query, PlannedStmt *plan, const char *text)
{
	int			eflags = EXEC_FLAG_EXPLAIN_ONLY | (query->is_generic ? PLH_EXPLAIN_GENERIC : 0);
	ErrorContextCallback hinting = {
		.previous = error_context_stack,
		.callback = hint_at_values
	};
	QueryDesc  *ready;

	if (query->is_generic)
		error_context_stack = &hinting;
	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	ready = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, NULL,
							NULL, 0);
	ExecutorStart(ready, eflags);
	query->executor_bytes += MemoryContextMemAllocated(ready->estate->es_query_cxt, true);
	plh_plan_estimate_add(&query->plan, ready);
	ExecutorEnd(ready);
	FreeQueryDesc(ready);
	PopActiveSnapshot();
	error_context_stack = hinting.previous;
}

/* Plan a query in a memory context of its own, to see what that takes. */
static void
estimate_query(PlhEstimatedQuery *query, Query *analysed, const char *text)
{
	int			generic = query->is_generic ? CURSOR_OPT_GENERIC_PLAN : 0;
	MemoryContext planning = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt estimate",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_memory = MemoryContextSwitchTo(planning);
	PlannedStmt *plan = PLH_PLAN_QUERY(analysed, text, CURSOR_OPT_PARALLEL_OK | generic);

	MemoryContextSwitchTo(caller_memory);
	query->planner_bytes += MemoryContextMemAllocated(planning, true);
	estimate_plan(query, plan, text);
}

static void
estimate_queries(PlhEstimatedQuery *query, const List *queries, const char *text)
{
	ListCell   *cell;

	foreach(cell, queries)
	{
		Query	   *analysed = lfirst_node(Query, cell);
		const List *within;

		if (query->query_id == 0)
			query->query_id = analysed->queryId;
		if (analysed->commandType != CMD_UTILITY)
		{
			estimate_query(query, analysed, text);
			continue;
		}
		within = queries_within(query, analysed->utilityStmt, text);
		if (within == NIL)
			estimate_command(query, analysed->utilityStmt);
		else
			estimate_queries(query, within, text);
	}
}

PlhEstimatedQuery *
plh_estimated_query_make(const char *text)
{
	PlhEstimatedQuery *query = palloc0(sizeof(PlhEstimatedQuery));
	ErrorContextCallback pointing;
	RawStmt    *statement = parse(text);

	set_text(query, text, statement);
	plh_checked_statement_begin_pointing(&pointing, text);
	estimate_queries(query, analyse(query, statement, text), text);
	error_context_stack = pointing.previous;
	if (query->planner_bytes == 0)
		query->planner_bytes = -1;
	return query;
}
