/*
 * unlimited.c
 *	  What a node of a plan uses that no setting limits: aggregates, functions, triggers, indexes.
 *
 * Functions in C, the server's and those of extensions, are taken to keep nothing from row to row.
 * Others run statements, or code of another interpreter, of which the plan knows nothing.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "plan/unlimited.h"

/* Functions of aggregates that keep one state of a fixed size behind a pointer. */
static const char *const counting_functions[] = {
	"int2_accum", "int4_accum", "int8_accum", "int8_avg_accum", "numeric_accum",
	"numeric_avg_accum"
};

/* And those that sort their rows, by work_mem. */
static const char *const sorting_functions[] = {
	"ordered_set_transition", "ordered_set_transition_multi"
};

static bool
is_one_of(Oid function, const char *const *names, int count)
{
	const char *name = get_func_name(function);

	for (int i = 0; name != NULL && i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Does the state of one of the server's own aggregates grow with its rows? */
static bool
grows(Oid function, Oid state_type)
{
	if (state_type != INTERNALOID)
		return state_type == XMLOID;
	return !is_one_of(function, counting_functions, lengthof(counting_functions)) &&
		!is_one_of(function, sorting_functions, lengthof(sorting_functions));
}

/* Is it in a language that may do anything, with statements of its own? */
static bool
is_free(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;

	if (!HeapTupleIsValid(tuple))
		return false;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language != INTERNALlanguageId && language != ClanguageId;
}

bool
plh_unlimited_is_aggregate(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		is_unlimited;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	/* "internal" is a pointer */
	is_unlimited = (form->aggtranstype == INTERNALOID || !get_typbyval(form->aggtranstype)) &&
		(aggregate >= FirstNormalObjectId || grows(form->aggtransfn, form->aggtranstype));
	is_unlimited |= aggregate >= FirstNormalObjectId && is_free(form->aggtransfn);
	ReleaseSysCache(tuple);
	return is_unlimited;
}

static bool
is_name_in(const List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* check_function_callback: note that function, and go on. */
static bool
note_function(Oid function, void *context)
{
	List	  **names = context;

	/* the server's own in SQL are one expression each */
	if (function >= FirstNormalObjectId && is_free(function))
	{
		char	   *name = format_procedure(function);

		if (!is_name_in(*names, name))
			*names = lappend(*names, name);
	}
	return false;
}

/* Note the functions of an expression; not those of subplans, which are nodes of their own. */
static bool
note_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	(void) check_functions_in_node(node, note_function, context);
	return expression_tree_walker(node, note_functions, context);
}

/* Expressions that only nodes of some kinds have. */
static void
note_own_functions(Plan *plan, List **names)
{
	switch (nodeTag(plan))
	{
		case T_HashJoin:
			(void) note_functions((Node *) ((HashJoin *) plan)->hashclauses, names);
			(void) note_functions((Node *) ((Join *) plan)->joinqual, names);
			break;
		case T_MergeJoin:
		case T_NestLoop:
			(void) note_functions((Node *) ((Join *) plan)->joinqual, names);
			break;
		case T_FunctionScan:
			(void) note_functions((Node *) ((FunctionScan *) plan)->functions, names);
			break;
		case T_ValuesScan:
			(void) note_functions((Node *) ((ValuesScan *) plan)->values_lists, names);
			break;
		case T_Result:
			(void) note_functions(((Result *) plan)->resconstantqual, names);
			break;
		case T_ModifyTable:
			(void) note_functions((Node *) ((ModifyTable *) plan)->returningLists, names);
			break;
		default:
			break;
	}
}

List *
plh_unlimited_functions(List *names, const PlanState *planstate)
{
	Plan	   *plan = planstate->plan;

	(void) note_functions((Node *) plan->targetlist, &names);
	(void) note_functions((Node *) plan->qual, &names);
	note_own_functions(plan, &names);
	return names;
}

bool
plh_unlimited_returns_simply(Oid function)
{
	static const char *const series[] = {"generate_series", "generate_subscripts"};

	return function < FirstNormalObjectId && is_one_of(function, series, lengthof(series));
}

bool
plh_unlimited_is_index(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	bool		is_gin;

	if (!HeapTupleIsValid(tuple))
		return false;
	is_gin = ((Form_pg_class) GETSTRUCT(tuple))->relam == GIN_AM_OID;
	ReleaseSysCache(tuple);
	return is_gin;
}

bool
plh_unlimited_leaves_events(const TriggerDesc *triggers, CmdType operation)
{
	if (triggers == NULL)
		return false;
	switch (operation)
	{
		case CMD_INSERT:
			return triggers->trig_insert_after_row || triggers->trig_insert_new_table;
		case CMD_UPDATE:
			return triggers->trig_update_after_row || triggers->trig_update_old_table ||
				triggers->trig_update_new_table;
		case CMD_DELETE:
			return triggers->trig_delete_after_row || triggers->trig_delete_old_table;
		default:
			return triggers->trig_insert_after_row || triggers->trig_update_after_row ||
				triggers->trig_delete_after_row;
	}
}
