/*
 * annotated_plan.c
 *	  Adds what nodes held to what EXPLAIN has printed, where it asks no extension while it prints.
 *
 * Nodes are printed in the order in which plan_watch.c walks, and a line of each can be told.  In
 * JSON, YAML and XML no text of a user looks like such a line: quotes, line breaks or angle
 * brackets in it are escaped.  In the plain text format a line break in a constant may make one: if
 * there are more such lines than nodes, only the statement as a whole is told of.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "plan/annotated_plan.h"

typedef struct Annotation
{
	ExplainFormat format;
	ExplainState *es;			/* writes to the output */
	const List *results;
	PlhPlanTexts **plans;		/* one for each result */
	int			plan;			/* number of the plan at work */
	int			node;			/* next one of that */
	int			statements;		/* that have been told of */
} Annotation;

static bool
begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Does a node begin with that line, or its first property?  Further ones begin at the column. */
static bool
is_node_line(const char *line, ExplainFormat format, bool begins_plan, int *column)
{
	const char *start = line + strspn(line, " ");

	if (format == EXPLAIN_FORMAT_YAML && begins_with(start, "- "))
		start += 2;
	*column = start - line;
	switch (format)
	{
		case EXPLAIN_FORMAT_JSON:
			return begins_with(start, "\"Node Type\": ");
		case EXPLAIN_FORMAT_YAML:
			return begins_with(start, "Node Type: ");
		case EXPLAIN_FORMAT_XML:
			return begins_with(start, "<Node-Type>");
		case EXPLAIN_FORMAT_TEXT:
			break;
	}
	*column += begins_plan ? 2 : 6;
	return begins_plan || begins_with(start, "->  ");
}

/* Is the part of a plan over with that line, or before it? */
static bool
ends_plan(const char *line, ExplainFormat format, bool is_first)
{
	switch (format)
	{
		case EXPLAIN_FORMAT_JSON:
			return strcmp(line, "  }") == 0 || strcmp(line, "  },") == 0;
		case EXPLAIN_FORMAT_XML:
			return strcmp(line, "  </Query>") == 0;
		case EXPLAIN_FORMAT_YAML:
			return begins_with(line, "- Plan:") && !is_first;
		case EXPLAIN_FORMAT_TEXT:
			break;
	}
	return false;
}

/* The lines of a text, which is cut for that. */
static List *
split_lines(char *text)
{
	List	   *lines = NIL;

	while (text != NULL)
		lines = lappend(lines, strsep(&text, "\n"));
	return lines;
}

/* Does a plan begin with the line with that number? */
static bool
begins_plan(const List *lines, int number)
{
	return number == 0 || *(char *) list_nth(lines, number - 1) == '\0';
}

static int
count_node_lines(const List *lines, ExplainFormat format)
{
	int			count = 0;

	for (int i = 0; i < list_length(lines); i++)
	{
		int			column;

		count += is_node_line(list_nth(lines, i), format, begins_plan(lines, i), &column);
	}
	return count;
}

static int
count_nodes(const List *results)
{
	int			count = 0;
	ListCell   *cell;

	foreach(cell, results)
		count += ((PlhPlanResult *) lfirst(cell))->tree->count;
	return count;
}

/* Take back the last character of the output, if it is that. */
static bool
take_back(StringInfo output, char last)
{
	if (output->len == 0 || output->data[output->len - 1] != last)
		return false;
	output->data[--output->len] = '\0';
	return true;
}

/*
 * Properties are added between lines.  In JSON and YAML they begin with the end of the line before,
 * of which "had_comma" says whether a comma followed.
 */
static bool
open_lines(Annotation *annotation, int column)
{
	ExplainState *es = annotation->es;
	bool		had_comma = false;

	es->indent = column / 2;
	es->grouping_stack = list_make1_int(1);
	if (annotation->format == EXPLAIN_FORMAT_JSON || annotation->format == EXPLAIN_FORMAT_YAML)
	{
		(void) take_back(es->str, '\n');
		had_comma = annotation->format == EXPLAIN_FORMAT_JSON && take_back(es->str, ',');
	}
	return had_comma;
}

static void
close_lines(Annotation *annotation, bool had_comma)
{
	StringInfo	output = annotation->es->str;

	if (had_comma)
		appendStringInfoChar(output, ',');
	if (output->len > 0 && output->data[output->len - 1] != '\n')
		appendStringInfoChar(output, '\n');
}

static void
annotate_node(Annotation *annotation, int column)
{
	const PlhPlanResult *result;
	bool		had_comma;

	/* there are as many nodes as lines of them */
	Assert(annotation->plan < list_length(annotation->results));
	while ((result = list_nth(annotation->results, annotation->plan))->tree->count <=
		   annotation->node)
	{
		annotation->plan++;
		annotation->node = 0;
	}
	had_comma = open_lines(annotation, column);
	plh_plan_text_node(annotation->es, annotation->plans[annotation->plan],
					   result->tree->nodes[annotation->node++].id);
	close_lines(annotation, had_comma);
}

static void
annotate_statement(Annotation *annotation)
{
	static const int columns[] = {
		[EXPLAIN_FORMAT_TEXT] = 0,
		[EXPLAIN_FORMAT_XML] = 4,
		[EXPLAIN_FORMAT_JSON] = 4,
		[EXPLAIN_FORMAT_YAML] = 2
	};
	bool		had_comma;

	if (annotation->statements >= list_length(annotation->results))
		return;
	had_comma = open_lines(annotation, columns[annotation->format]);
	plh_plan_text_statement(annotation->es, annotation->plans[annotation->statements++]);
	close_lines(annotation, had_comma);
}

static void
annotate(Annotation *annotation, const List *lines)
{
	bool		are_told_apart = count_node_lines(lines, annotation->format) ==
		count_nodes(annotation->results);
	StringInfo	output = annotation->es->str;

	for (int i = 0; i < list_length(lines); i++)
	{
		const char *line = list_nth(lines, i);
		int			column;

		if (ends_plan(line, annotation->format, i == 0))
			annotate_statement(annotation);
		appendStringInfo(output, "%s\n", line);
		if (are_told_apart &&
			is_node_line(line, annotation->format, begins_plan(lines, i), &column))
			annotate_node(annotation, column);
	}
	while (annotation->statements < list_length(annotation->results))
		annotate_statement(annotation);
	if (!are_told_apart && annotation->format == EXPLAIN_FORMAT_TEXT)
		plh_plan_text_problem(annotation->es,
							  "Which line is of which node could not be told. Other formats have no such lines.");
}

char *
plh_annotated_plan_make(const char *text, ExplainFormat format, const List *results)
{
	int			count = list_length(results);
	Annotation	annotation = {
		.format = format,
		.es = NewExplainState(),
		.results = results,
		.plans = palloc(sizeof(PlhPlanTexts *) * Max(count, 1))
	};

	annotation.es->format = format;
	for (int i = 0; i < count; i++)
		annotation.plans[i] = plh_plan_text_open(list_nth(results, i));
	annotate(&annotation, split_lines(pstrdup(text)));
	(void) take_back(annotation.es->str, '\n');
	return annotation.es->str->data;
}
