/*
 * explained_query.c
 *	  Runs EXPLAIN (ANALYZE) of a statement, and tells what each node of the plan held.
 *
 * Where EXPLAIN has options of extensions, there is an option LEAKHUNT; elsewhere what nodes held
 * is added to its output.
 *
 * With the option, the watch ends with the memory context of the ExplainState, at the latest when
 * the statement is over or an ERROR has ended it.
 *
 * auto_explain may be given the option from 19 on: by then the statement has run, and nothing is
 * known of it.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"

#include "base/compat.h"
#include "check/checked_statement.h"
#include "plan/annotated_plan.h"
#include "plan/explained_query.h"
#include "plan/plan_watch.h"

static char *
make_command(const char *query, const char *options)
{
	return psprintf("EXPLAIN (ANALYZE%s%s%s) %s", PLH_HAVE_EXPLAIN_OPTIONS ? ", LEAKHUNT" : "",
					options[0] != '\0' ? ", " : "", options, query);
}

/* Returns the command, parsed, or throws an ERROR if it is not one EXPLAIN. */
static const ExplainStmt *
parse(const char *command)
{
	const List *parsed = plh_checked_statement_parse(command);

	if (list_length(parsed) != 1 || !IsA(linitial_node(RawStmt, parsed)->stmt, ExplainStmt))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("pg_leakhunt_explain_analyze explains one statement")));
	return (ExplainStmt *) linitial_node(RawStmt, parsed)->stmt;
}

/* Run the command.  Returns its rows, in the caller's memory context. */
static List *
execute(const char *command)
{
	MemoryContext memory = CurrentMemoryContext;
	List	   *rows = NIL;
	int			result;

	SPI_connect();
	result = SPI_execute(command, false, 0);
	if (result < 0 || SPI_tuptable == NULL)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
	{
		char	   *row = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		MemoryContext spi_memory = MemoryContextSwitchTo(memory);

		rows = lappend(rows, pstrdup(row != NULL ? row : ""));
		MemoryContextSwitchTo(spi_memory);
	}
	SPI_finish();
	return rows;
}

#if PLH_HAVE_EXPLAIN_OPTIONS

/* What an ExplainState has of ours, if the option is on. */
typedef struct Explained
{
	MemoryContextCallback callback;
	const char *problem;		/* why nothing is known; NULL: it is */
	PlhPlanResult *result;		/* NULL: the statement has not run */
	PlhPlanTexts *texts;		/* NULL: not asked for yet */
} Explained;

static int	extension_id;
static explain_validate_options_hook_type prev_explain_validate_options_hook;
static explain_per_node_hook_type prev_explain_per_node_hook;
static explain_per_plan_hook_type prev_explain_per_plan_hook;

/* ExplainOptionHandler */
static void
handle_option(ExplainState *es, DefElem *option, ParseState *pstate)
{
	Explained  *explained = NULL;

	if (defGetBoolean(option))
	{
		explained = palloc0(sizeof(Explained));
		explained->problem = "This statement was not watched.";
	}
	SetExplainExtensionState(es, extension_id, explained);
}

static Explained *
explained_of(ExplainState *es)
{
	return GetExplainExtensionState(es, extension_id);
}

/* PlhPlanTaker: of several statements, the last one's result is printed next. */
static void
take_result(PlhPlanResult *result, void *taker)
{
	Explained  *explained = taker;

	explained->result = result;
	explained->texts = NULL;
}

/* explain_validate_options_hook */
static void
validate_options(ExplainState *es, List *options, ParseState *pstate)
{
	Explained  *explained = explained_of(es);

	if (prev_explain_validate_options_hook != NULL)
		prev_explain_validate_options_hook(es, options, pstate);
	if (explained == NULL)
		return;
	if (!es->analyze)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("EXPLAIN option %s requires ANALYZE", "LEAKHUNT")));
	explained->problem = plh_plan_watch_expect(take_result, explained);
	if (explained->problem != NULL)
		return;
	explained->callback.func = plh_plan_watch_end;
	explained->callback.arg = explained;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &explained->callback);
}

/* The texts of the plan that is printed; NULL if it was not watched. */
static PlhPlanTexts *
texts_of(Explained *explained, const PlannedStmt *plan)
{
	if (explained == NULL || explained->result == NULL || explained->result->plan != plan)
		return NULL;
	if (explained->texts == NULL)
		explained->texts = plh_plan_text_open(explained->result);
	return explained->texts;
}

/* explain_per_node_hook */
static void
add_to_node(PlanState *planstate, List *ancestors, const char *relationship,
			const char *plan_name, ExplainState *es)
{
	PlhPlanTexts *texts = texts_of(explained_of(es), es->pstmt);

	if (prev_explain_per_node_hook != NULL)
		prev_explain_per_node_hook(planstate, ancestors, relationship, plan_name, es);
	if (texts != NULL)
		plh_plan_text_node(es, texts, planstate->plan->plan_node_id);
}

/* explain_per_plan_hook */
static void
add_to_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es, const char *query,
			ParamListInfo params, QueryEnvironment *environment)
{
	Explained  *explained = explained_of(es);
	PlhPlanTexts *texts = texts_of(explained, plan);

	if (prev_explain_per_plan_hook != NULL)
		prev_explain_per_plan_hook(plan, into, es, query, params, environment);
	if (texts != NULL)
		plh_plan_text_statement(es, texts);
	else if (explained != NULL)
		plh_plan_text_problem(es, explained->problem != NULL ? explained->problem :
							  "This statement was not watched.");
}

void
plh_explained_query_start(void)
{
	extension_id = GetExplainExtensionId("pg_leakhunt");
	PLH_REGISTER_EXPLAIN_OPTION("leakhunt", handle_option);
	prev_explain_validate_options_hook = explain_validate_options_hook;
	explain_validate_options_hook = validate_options;
	prev_explain_per_node_hook = explain_per_node_hook;
	explain_per_node_hook = add_to_node;
	prev_explain_per_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = add_to_plan;
}

static List *
run(const char *command, const ExplainStmt *statement)
{
	return execute(command);
}

#else

static ExplainFormat
format_of(const ExplainStmt *statement)
{
	ExplainFormat format = EXPLAIN_FORMAT_TEXT;
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		const char *value;

		if (strcmp(option->defname, "format") != 0)
			continue;
		value = defGetString(option);
		format = strcmp(value, "xml") == 0 ? EXPLAIN_FORMAT_XML :
			strcmp(value, "json") == 0 ? EXPLAIN_FORMAT_JSON :
			strcmp(value, "yaml") == 0 ? EXPLAIN_FORMAT_YAML : EXPLAIN_FORMAT_TEXT;
	}
	return format;
}

/* PlhPlanTaker */
static void
add_result(PlhPlanResult *result, void *taker)
{
	List	  **results = taker;

	*results = lappend(*results, result);
}

static char *
join(const List *rows)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, rows)
		appendStringInfo(&text, "%s%s", text.len > 0 ? "\n" : "", (char *) lfirst(cell));
	return text.data;
}

static List *
split(char *text)
{
	List	   *rows = NIL;

	for (char *row = strtok(text, "\n"); row != NULL; row = strtok(NULL, "\n"))
		rows = lappend(rows, row);
	return rows;
}

/* Run the command, and add to its rows what nodes held. */
static List *
run(const char *command, const ExplainStmt *statement)
{
	List	   *results = NIL;
	List	   *volatile rows = NIL;
	const char *problem = plh_plan_watch_expect(add_result, &results);

	if (problem != NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("pg_leakhunt_explain_analyze cannot watch the statement"),
						errdetail_internal("%s", problem)));
	PG_TRY();
	{
		ExplainFormat format = format_of(statement);
		char	   *text;

		rows = execute(command);
		text = plh_annotated_plan_make(join(rows), format, results);
		rows = format == EXPLAIN_FORMAT_TEXT ? split(text) : list_make1(text);
	}
	PG_FINALLY();
	{
		plh_plan_watch_end(&results);
	}
	PG_END_TRY();
	return rows;
}

void
plh_explained_query_start(void)
{
}

#endif							/* PLH_HAVE_EXPLAIN_OPTIONS */

List *
plh_explained_query_run(const char *query, const char *options)
{
	char	   *command = make_command(query, options);

	return run(command, parse(command));
}
