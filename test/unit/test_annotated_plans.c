/*
 * test_annotated_plans.c
 *	  What EXPLAIN has printed, with a line behind each node and statement.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "reader_tests.h"

/* The server's lists and state of EXPLAIN, as far as they are asked for. */
static List *
append_stub(List *list, void *datum)
{
	if (list == NIL)
	{
		list = palloc0(offsetof(List, initial_elements) + 64 * sizeof(ListCell));
		list->type = T_List;
		list->elements = list->initial_elements;
	}
	list->elements[list->length++].ptr_value = datum;
	return list;
}

#undef list_make1_int
#define list_make1_int(number) append_stub(NIL, NULL)
#define lappend append_stub
#define NewExplainState state_stub
#define plh_plan_text_open open_stub
#define plh_plan_text_node node_stub
#define plh_plan_text_statement statement_stub
#define plh_plan_text_problem problem_stub
#include "plan/plan_text.h"

static ExplainState state;

ExplainState *
state_stub(void)
{
	return &state;
}

PlhPlanTexts *
open_stub(const PlhPlanResult *result)
{
	return (PlhPlanTexts *) result;
}

/* Write a property as EXPLAIN does. */
static void
write_property(ExplainState *es, const char *name, int number)
{
	if (es->format == EXPLAIN_FORMAT_JSON)
		appendStringInfoString(es->str, ",\n");
	appendStringInfoSpaces(es->str, 2 * es->indent);
	appendStringInfo(es->str, es->format == EXPLAIN_FORMAT_JSON ? "\"%s\": %d" : "%s: %d\n",
					 name, number);
}

void
node_stub(ExplainState *es, PlhPlanTexts *texts, int id)
{
	write_property(es, "Node", id);
}

void
statement_stub(ExplainState *es, PlhPlanTexts *texts)
{
	write_property(es, "Statement", ((const PlhPlanResult *) texts)->tree->count);
}

void
problem_stub(ExplainState *es, const char *problem)
{
	write_property(es, "Problem", 0);
}

#include "plan/annotated_plan.c"

static PlhTreeNode first_nodes[] = {{.id = 3}, {.id = 4}};
static PlhTreeNode second_nodes[] = {{.id = 8}};
static const PlhPlanTree first_tree = {.nodes = first_nodes,.count = 2};
static const PlhPlanTree second_tree = {.nodes = second_nodes,.count = 1};
static PlhPlanResult first = {.tree = &first_tree};
static PlhPlanResult second = {.tree = &second_tree};

/* Does a text of one or two plans become that? */
static bool
becomes(const char *text, ExplainFormat format, bool has_second, const char *expected)
{
	List	   *results = append_stub(NIL, &first);
	const char *annotated;

	if (has_second)
		results = append_stub(results, &second);
	memset(&state, 0, sizeof(state));
	state.str = palloc(sizeof(StringInfoData));
	initStringInfo(state.str);
	annotated = plh_annotated_plan_make(text, format, results);
	if (strcmp(annotated, expected) == 0)
		return true;
	printf("# %s\n", annotated);
	return false;
}

static void
test_text(void)
{
	ok(becomes("Sort  (cost=1)\n  Sort Key: a\n  ->  Seq Scan on t\n        Filter: b", EXPLAIN_FORMAT_TEXT, false,
			   "Sort  (cost=1)\n  Node: 3\n  Sort Key: a\n  ->  Seq Scan on t\n        Node: 4\n        Filter: b\nStatement: 2"),
	   "what a node held stands below it, where its properties do");
	ok(becomes("Sort\n  ->  Seq Scan on t\n\nResult", EXPLAIN_FORMAT_TEXT, true,
			   "Sort\n  Node: 3\n  ->  Seq Scan on t\n        Node: 4\n\nResult\n  Node: 8\nStatement: 2\nStatement: 1"),
	   "of two plans each has its nodes");
	ok(becomes("Sort\n  Sort Key: ('x\n->  y'::text)\n  ->  Seq Scan on t", EXPLAIN_FORMAT_TEXT, false,
			   "Sort\n  Sort Key: ('x\n->  y'::text)\n  ->  Seq Scan on t\nStatement: 2\nProblem: 0"),
	   "where a constant looks like a node, none is told of");
}

static void
test_plan_in_json(void)
{
	ok(becomes("[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n      \"Plans\": [\n        {\n"
			   "          \"Node Type\": \"Result\"\n        }\n      ]\n    },\n    \"Time\": 1\n  }\n]",
			   EXPLAIN_FORMAT_JSON, false,
			   "[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n      \"Node\": 3,\n      \"Plans\": [\n        {\n"
			   "          \"Node Type\": \"Result\",\n          \"Node\": 4\n        }\n      ]\n    },\n    \"Time\": 1,\n    \"Statement\": 2\n  }\n]"),
	   "in JSON a comma stands where one is due");
}

void
test_annotated_plans(void)
{
	test_text();
	test_plan_in_json();
}
