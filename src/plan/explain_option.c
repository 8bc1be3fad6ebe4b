/*
 * explain_option.c
 *	  The option LEAKHUNT of EXPLAIN, where EXPLAIN has options of extensions.
 *
 * The watch ends with the memory context of the ExplainState, at the latest when the
 * statement is over or an ERROR has ended it.
 *
 * auto_explain may be given the option from 19 on: by then the statement has run, and
 * nothing is known of it.
 */
#include "postgres.h"

#include "base/compat.h"
#include "plan/explain_option.h"
#include "plan/plan_text.h"
#include "plan/plan_watch.h"

#if PLH_HAVE_EXPLAIN_OPTIONS
#include "commands/defrem.h"

#define OPTION "leakhunt"

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

/* MemoryContextCallbackFunction */
static void
end_watch(void *arg)
{
	plh_plan_watch_end(arg);
}

/* Begin to watch, unless something else is watched. */
static void
begin_watch(Explained *explained)
{
	explained->problem = plh_plan_watch_expect(take_result, explained);
	if (explained->problem != NULL)
		return;
	explained->callback.func = end_watch;
	explained->callback.arg = explained;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &explained->callback);
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
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("EXPLAIN option %s requires ANALYZE", "LEAKHUNT")));
	begin_watch(explained);
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
plh_explain_option_start(void)
{
	extension_id = GetExplainExtensionId("pg_leakhunt");
	PLH_REGISTER_EXPLAIN_OPTION(OPTION, handle_option);
	prev_explain_validate_options_hook = explain_validate_options_hook;
	explain_validate_options_hook = validate_options;
	prev_explain_per_node_hook = explain_per_node_hook;
	explain_per_node_hook = add_to_node;
	prev_explain_per_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = add_to_plan;
}

#else

void
plh_explain_option_start(void)
{
}

#endif							/* PLH_HAVE_EXPLAIN_OPTIONS */
