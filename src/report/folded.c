/*
 * folded.c
 *	  Writes folded stacks, which flame graph scripts and speedscope read.
 *
 * Each stack is a line: its functions from the outermost on with ";" between them, a blank, and the
 * bytes.  Growth is two figures, the bytes before and the bytes after.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "report/folded.h"
#include "report/listed_site.h"

/* A line before it is written. */
typedef struct FoldedLine
{
	const char *stack;
	int64		bytes;
	int64		old_bytes;
} FoldedLine;

/* Append a name, without the characters that would end it or its line. */
static void
append_name(StringInfo stack, const char *name)
{
	if (stack->len > 0)
		appendStringInfoChar(stack, ';');
	for (; *name != '\0'; name++)
	{
		if (*name == ';')
			appendStringInfoChar(stack, ':');
		else if ((unsigned char) *name < ' ' || *name == 0x7F)
			appendStringInfoChar(stack, ' ');
		else
			appendStringInfoChar(stack, *name);
	}
}

/* Make the text of a site's stack in a buffer.  Returns a copy of it. */
static const char *
fold_stack(StringInfo stack, const PlhListedSite *listed, bool with_context, bool with_query)
{
	resetStringInfo(stack);
	if (with_context)
		append_name(stack, listed->context_name != NULL ?
					listed->context_name : PLH_NO_CONTEXT_NAME);
	if (with_query)
		append_name(stack, listed->query != NULL ? listed->query : "[no statement]");
	for (int i = listed->stack.frame_count - 1; i >= 0; i--)
		append_name(stack, plh_stack_text_function_name(&listed->stack.frames[i]));
	return pnstrdup(stack->data, stack->len);
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(((const FoldedLine *) a)->stack, ((const FoldedLine *) b)->stack);
}

/* Append a line, unless its figures are 0. */
static void
append_line(StringInfo output, const FoldedLine *line, bool growth)
{
	if (line->bytes == 0 && line->old_bytes == 0)
		return;
	appendStringInfo(output, "%s ", line->stack);
	if (growth)
		appendStringInfo(output, "%lld ", (long long) line->old_bytes);
	appendStringInfo(output, "%lld\n", (long long) line->bytes);
}

/*
 * Append the folded stacks of a list.  If wanted, the memory context and the statement stand before
 * the outermost function.  Sites with the same text are merged into one line.
 */
void
plh_folded_append(StringInfo output, const PlhSiteList *list, bool with_context, bool with_query)
{
	FoldedLine *lines = palloc(sizeof(FoldedLine) * Max(list->count, 1));
	StringInfoData stack;
	int			last = 0;

	if (list->count == 0)
		return;
	initStringInfo(&stack);
	for (int i = 0; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lines[i].stack = fold_stack(&stack, &list->sites[i], with_context, with_query);
		lines[i].bytes = list->sites[i].bytes;
		lines[i].old_bytes = list->sites[i].old_bytes;
	}
	qsort(lines, list->count, sizeof(FoldedLine), compare_lines);
	for (int i = 1; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (strcmp(lines[i].stack, lines[last].stack) != 0)
			lines[++last] = lines[i];
		else
		{
			lines[last].bytes += lines[i].bytes;
			lines[last].old_bytes += lines[i].old_bytes;
		}
	}
	for (int i = 0; i <= last; i++)
	{
		CHECK_FOR_INTERRUPTS();
		append_line(output, &lines[i], list->growth);
	}
}
