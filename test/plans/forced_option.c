/*
 * forced_option.c
 *	  Gives each EXPLAIN (ANALYZE) the option LEAKHUNT, and takes out of its output what
 *	  that added: the server's own tests must have the results that they expect.
 *
 * With forced_option.instrument, each statement is instrumented, too, as auto_explain has
 * it: in a module that is built with -DPLH_WATCH_ALL=1, each is watched then.
 *
 * The log says how many lines were taken out, so that the script which reads it knows
 * that there were some.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/* Passes rows on to another receiver, but for lines of the option. */
typedef struct Filter
{
	DestReceiver pub;
	DestReceiver *next;
	int			taken;			/* lines */
} Filter;

static bool instrument;
static ProcessUtility_hook_type prev_ProcessUtility_hook;
static ExecutorStart_hook_type prev_ExecutorStart_hook;

static bool
begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Is the line, without its indent, one that the option adds, or begins a group of these? */
static bool
is_ours(const char *line)
{
	return begins_with(line, "\"Leakhunt") || begins_with(line, "Leakhunt") ||
		begins_with(line, "<Leakhunt");
}

/*
 * Does a group go on with that line?  Its lines are further to the right than its first
 * one, and a bracket or tag at its end is not.
 */
static bool
goes_on(const char *line, int indent, int group)
{
	return indent > group ||
		(indent == group && (line[0] == '}' || begins_with(line, "</Leakhunt>")));
}

/* Take back the comma behind which nothing follows any more. */
static void
take_comma_back(StringInfo text)
{
	if (text->len >= 2 && strcmp(text->data + text->len - 2, ",\n") == 0)
	{
		text->len -= 2;
		text->data[text->len] = '\0';
		appendStringInfoChar(text, '\n');
	}
}

/* A text of several lines without those of the option. */
static char *
without_ours(const char *text, int *taken)
{
	StringInfoData kept;
	int			group = -1;		/* the indent of the group that is left out */
	bool		has_comma = true;	/* the last line that was left out */

	initStringInfo(&kept);
	while (*text != '\0')
	{
		int			length = strcspn(text, "\n");
		int			indent = strspn(text, " ");
		const char *line = text + indent;

		if (group >= 0 && !goes_on(line, indent, group))
			group = -1;
		if (group < 0 && is_ours(line))
			group = indent;
		if (group >= 0)
		{
			(*taken)++;
			has_comma = text[length - 1] == ',';
		}
		else
		{
			/* in JSON, a property before the end of an object has no comma */
			if (!has_comma && (line[0] == '}' || line[0] == ']'))
				take_comma_back(&kept);
			has_comma = true;
			appendBinaryStringInfo(&kept, text, length);
			appendStringInfoChar(&kept, '\n');
		}
		text += length;
		if (*text == '\n')
			text++;
		else if (group < 0)
			kept.data[--kept.len] = '\0';
	}
	/* what follows a line that was last */
	if (group >= 0 && kept.len > 0)
		kept.data[--kept.len] = '\0';
	return kept.data;
}

/* receiveSlot: a row has one line as text, or all of them. */
static bool
filter_row(TupleTableSlot *slot, DestReceiver *self)
{
	Filter	   *filter = (Filter *) self;
	char	   *lines;

	slot_getallattrs(slot);
	lines = TextDatumGetCString(slot->tts_values[0]);
	if (strchr(lines, '\n') == NULL)
	{
		if (is_ours(lines + strspn(lines, " ")))
		{
			filter->taken++;
			return true;
		}
	}
	else
		slot->tts_values[0] = CStringGetTextDatum(without_ours(lines, &filter->taken));
	return filter->next->receiveSlot(slot, filter->next);
}

static void
filter_start(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	Filter	   *filter = (Filter *) self;

	filter->next->rStartup(filter->next, operation, typeinfo);
}

static void
filter_end(DestReceiver *self)
{
	Filter	   *filter = (Filter *) self;

	filter->next->rShutdown(filter->next);
}

static void
filter_destroy(DestReceiver *self)
{
}

/* Does that EXPLAIN run the statement? */
static bool
analyzes(const ExplainStmt *statement)
{
	bool		analyzes = false;
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "analyze") == 0)
			analyzes = defGetBoolean(option);
	}
	return analyzes;
}

static void
call_next(PlannedStmt *statement, const char *query, bool is_read_only,
		  ProcessUtilityContext context, ParamListInfo params,
		  QueryEnvironment *environment, DestReceiver *receiver, QueryCompletion *completion)
{
	(prev_ProcessUtility_hook != NULL ? prev_ProcessUtility_hook : standard_ProcessUtility)
		(statement, query, is_read_only, context, params, environment, receiver, completion);
}

/* ProcessUtility_hook */
static void
run_utility(PlannedStmt *statement, const char *query, bool is_read_only,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *environment, DestReceiver *receiver,
			QueryCompletion *completion)
{
	Filter		filter = {
		.pub = {filter_row, filter_start, filter_end, filter_destroy, receiver->mydest},
		.next = receiver
	};
	ExplainStmt *explain;

	if (!IsA(statement->utilityStmt, ExplainStmt) ||
		!analyzes((ExplainStmt *) statement->utilityStmt))
	{
		call_next(statement, query, is_read_only, context, params, environment, receiver, completion);
		return;
	}
	statement = copyObject(statement);
	explain = castNode(ExplainStmt, statement->utilityStmt);
	explain->options = lappend(explain->options, makeDefElem("leakhunt", NULL, -1));
	call_next(statement, query, false, context, params, environment, &filter.pub, completion);
	elog(LOG_SERVER_ONLY, "forced_option: %d lines", filter.taken);
}

/* ExecutorStart_hook */
static void
start_executor(QueryDesc *query, int eflags)
{
	if (instrument && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !IsParallelWorker())
		query->instrument_options |= INSTRUMENT_ROWS;
	if (prev_ExecutorStart_hook != NULL)
		prev_ExecutorStart_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("forced_option.instrument",
							 "Has each statement instrumented.", NULL,
							 &instrument, false, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	if (PG_VERSION_NUM >= 180000)
	{
		prev_ProcessUtility_hook = ProcessUtility_hook;
		ProcessUtility_hook = run_utility;
	}
	prev_ExecutorStart_hook = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
