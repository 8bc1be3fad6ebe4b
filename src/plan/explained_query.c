/*
 * explained_query.c
 *	  Runs EXPLAIN (ANALYZE) of a statement that is given as a text, and tells what each
 *	  node of the plan held.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"

#include "base/compat.h"
#include "check/parsed_text.h"
#include "plan/annotated_plan.h"
#include "plan/explained_query.h"
#include "plan/plan_watch.h"

/* The command, as EXPLAIN gets it. */
static char *
make_command(const char *query, const char *options)
{
	return psprintf("EXPLAIN (ANALYZE%s%s%s) %s",
					PLH_HAVE_EXPLAIN_OPTIONS ? ", LEAKHUNT" : "",
					options[0] != '\0' ? ", " : "", options, query);
}

/* Returns the command, parsed, or throws an ERROR if it is not one EXPLAIN. */
static const ExplainStmt *
parse(const char *command)
{
	const List *parsed = plh_parsed_text_read(command);

	if (list_length(parsed) != 1 ||
		!IsA(linitial_node(RawStmt, parsed)->stmt, ExplainStmt))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
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

#if !PLH_HAVE_EXPLAIN_OPTIONS

/* The format that an EXPLAIN asks for. */
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
execute_and_annotate(const char *command, const ExplainStmt *statement, List **results)
{
	List	   *rows = execute(command);
	ExplainFormat format = format_of(statement);
	char	   *text = plh_annotated_plan_make(join(rows), format, *results);

	return format == EXPLAIN_FORMAT_TEXT ? split(text) : list_make1(text);
}

static List *
run(const char *command, const ExplainStmt *statement)
{
	List	   *results = NIL;
	List	   *volatile rows = NIL;
	const char *problem = plh_plan_watch_expect(add_result, &results);

	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_leakhunt_explain_analyze cannot watch the statement"),
				 errdetail_internal("%s", problem)));
	PG_TRY();
	{
		rows = execute_and_annotate(command, statement, &results);
	}
	PG_FINALLY();
	{
		plh_plan_watch_end(&results);
	}
	PG_END_TRY();
	return rows;
}

#else

static List *
run(const char *command, const ExplainStmt *statement)
{
	return execute(command);
}

#endif							/* !PLH_HAVE_EXPLAIN_OPTIONS */

List *
plh_explained_query_run(const char *query, const char *options)
{
	char	   *command = make_command(query, options);

	return run(command, parse(command));
}
