/*
 * node_label.c
 *	  What a node of a plan is called, as EXPLAIN calls it.
 */
#include "postgres.h"

#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "plan/node_label.h"

/* Kinds of nodes with one name each. */
static const struct
{
	NodeTag		tag;
	const char *name;
}			names[] = {
	{T_Result, "Result"},
	{T_ProjectSet, "ProjectSet"},
	{T_Append, "Append"},
	{T_MergeAppend, "Merge Append"},
	{T_RecursiveUnion, "Recursive Union"},
	{T_BitmapAnd, "BitmapAnd"},
	{T_BitmapOr, "BitmapOr"},
	{T_NestLoop, "Nested Loop"},
	{T_MergeJoin, "Merge Join"},
	{T_HashJoin, "Hash Join"},
	{T_SeqScan, "Seq Scan"},
	{T_SampleScan, "Sample Scan"},
	{T_Gather, "Gather"},
	{T_GatherMerge, "Gather Merge"},
	{T_IndexScan, "Index Scan"},
	{T_IndexOnlyScan, "Index Only Scan"},
	{T_BitmapIndexScan, "Bitmap Index Scan"},
	{T_BitmapHeapScan, "Bitmap Heap Scan"},
	{T_TidScan, "Tid Scan"},
	{T_TidRangeScan, "Tid Range Scan"},
	{T_SubqueryScan, "Subquery Scan"},
	{T_FunctionScan, "Function Scan"},
	{T_TableFuncScan, "Table Function Scan"},
	{T_ValuesScan, "Values Scan"},
	{T_CteScan, "CTE Scan"},
	{T_NamedTuplestoreScan, "Named Tuplestore Scan"},
	{T_WorkTableScan, "WorkTable Scan"},
	{T_ForeignScan, "Foreign Scan"},
	{T_CustomScan, "Custom Scan"},
	{T_Material, "Materialize"},
	{T_Memoize, "Memoize"},
	{T_Sort, "Sort"},
	{T_IncrementalSort, "Incremental Sort"},
	{T_Group, "Group"},
	{T_WindowAgg, "WindowAgg"},
	{T_Unique, "Unique"},
	{T_LockRows, "LockRows"},
	{T_Limit, "Limit"},
	{T_Hash, "Hash"}
};

static const char *
aggregate_name(const Agg *agg)
{
	static const char *const by_strategy[] = {
		[AGG_PLAIN] = "Aggregate",
		[AGG_SORTED] = "GroupAggregate",
		[AGG_HASHED] = "HashAggregate",
		[AGG_MIXED] = "MixedAggregate"
	};
	const char *part = DO_AGGSPLIT_SKIPFINAL(agg->aggsplit) ? "Partial " :
		DO_AGGSPLIT_COMBINE(agg->aggsplit) ? "Finalize " : "";

	return psprintf("%s%s", part, by_strategy[agg->aggstrategy]);
}

static const char *
change_name(const ModifyTable *change)
{
	switch (change->operation)
	{
		case CMD_INSERT:
			return "Insert";
		case CMD_UPDATE:
			return "Update";
		case CMD_DELETE:
			return "Delete";
		case CMD_MERGE:
			return "Merge";
		default:
			return "Modify Table";
	}
}

static const char *
name_of(const Plan *plan)
{
	if (IsA(plan, Agg))
		return aggregate_name((const Agg *) plan);
	if (IsA(plan, ModifyTable))
		return change_name((const ModifyTable *) plan);
	if (IsA(plan, SetOp))
		return ((const SetOp *) plan)->strategy == SETOP_HASHED ? "HashSetOp" : "SetOp";
	for (int i = 0; i < lengthof(names); i++)
		if (nodeTag(plan) == names[i].tag)
			return names[i].name;
	return "Node";
}

/* The place in the range table of what a node scans or changes; 0: nothing, or several. */
static Index
relation_of(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_ForeignScan:
		case T_CustomScan:
		case T_SubqueryScan:
		case T_FunctionScan:
		case T_TableFuncScan:
		case T_ValuesScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
			return ((const Scan *) plan)->scanrelid;
		case T_ModifyTable:
			return ((const ModifyTable *) plan)->nominalRelation;
		default:
			return 0;
	}
}

/* "on table", with another name that the statement gives it. */
static const char *
relation_text(const RangeTblEntry *entry)
{
	const char *alias = entry->eref != NULL ? entry->eref->aliasname : NULL;
	const char *name = entry->rtekind == RTE_RELATION ? get_rel_name(entry->relid) : NULL;

	if (name == NULL)
		return alias == NULL ? "" : psprintf(" on %s", alias);
	return alias == NULL || strcmp(alias, name) == 0 ? psprintf(" on %s", name) :
		psprintf(" on %s %s", name, alias);
}

const char *
plh_node_label(const PlanState *planstate)
{
	const Plan *plan = planstate->plan;
	Index		relation = relation_of(plan);

	return psprintf("%s%s%s", plan->parallel_aware ? "Parallel " : "", name_of(plan),
					relation == 0 ? "" :
					relation_text(rt_fetch(relation, planstate->state->es_plannedstmt->rtable)));
}
