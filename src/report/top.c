/*
 * top.c
 *	  Sums up sites per function, line, module, memory context or routine.
 *
 * The two columns are those of jeprof and pprof: flat bytes were allocated by the function itself,
 * cumulative bytes by it or by a function that it calls.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "reader/collections.h"
#include "report/listed_site.h"
#include "report/text_numbers.h"
#include "report/top.h"

typedef struct Sums
{
	PlhTextNumbers *names;
	PlhTopRow **rows;			/* by the number that names has for a name */
	int			count;
	int			room;
} Sums;

const char *
plh_top_kind_name(PlhTopKind kind)
{
	static const char *const names[] = {"function", "line", "module", "context", "routine", NULL};

	return names[kind];
}

/* The name under which a frame is counted; the text may lie in the buffer. */
static const char *
name_of_frame(const PlhFrameText *frame, PlhTopKind kind, StringInfo buffer)
{
	if (kind == PLH_TOP_MODULE)
		return plh_stack_text_module_name(frame);
	if (kind == PLH_TOP_LINE && frame->language != PLH_LANGUAGE_NONE)
		return frame->text;
	if (kind != PLH_TOP_LINE || frame->function == NULL || frame->file == NULL)
		return plh_stack_text_function_name(frame);

	/* not the frame's text, which says whether the function was inlined */
	resetStringInfo(buffer);
	appendStringInfo(buffer, "%s (%s:%d)", frame->function,
					 plh_stack_text_base_name(frame->file), frame->line);
	return buffer->data;
}

static PlhTopRow *
find_row(Sums *sums, const char *name)
{
	bool		is_new;
	const PlhNumberedText *numbered = plh_text_numbers_add(sums->names, name, &is_new);

	if (is_new)
	{
		sums->rows = plh_array_grow(sums->rows, sums->count, &sums->room, sizeof(PlhTopRow *));
		sums->rows[sums->count] = palloc0(sizeof(PlhTopRow));
		sums->rows[sums->count]->name = numbered->text;
		sums->rows[sums->count++]->last_site = -1;
	}
	return sums->rows[numbered->number];
}

/* Count a site for a row, once, however often the stack has the name. */
static void
count_site(PlhTopRow *row, const PlhListedSite *listed, int number, bool flat)
{
	if (flat)
	{
		row->flat_bytes += plh_listed_site_bytes(listed);
		row->flat_count += plh_listed_site_count(listed);
	}
	if (row->last_site == number)
		return;
	row->last_site = number;
	row->cum_bytes += plh_listed_site_bytes(listed);
	row->cum_count += plh_listed_site_count(listed);
}

/* Count a site for each frame of its stack, or each routine if any, or for its memory context. */
static void
count_stack(Sums *sums, const PlhListedSite *listed, int number, PlhTopKind kind, StringInfo buffer)
{
	bool		flat = true;

	for (int i = 0; i < listed->stack.frame_count && kind != PLH_TOP_CONTEXT; i++)
	{
		const PlhFrameText *frame = &listed->stack.frames[i];

		if (kind == PLH_TOP_ROUTINE && frame->language == PLH_LANGUAGE_NONE)
			continue;
		count_site(find_row(sums, name_of_frame(frame, kind, buffer)), listed, number, flat);
		flat = false;
	}
	if (kind == PLH_TOP_CONTEXT)
		count_site(find_row(sums, listed->context_name != NULL ?
							listed->context_name : listed->stack.site), listed, number, true);
	else if (kind == PLH_TOP_ROUTINE && flat)
		count_site(find_row(sums, PLH_NO_ROUTINE_NAME), listed, number, true);
}

/*
 * The most flat bytes first: by cumulative bytes, every list would begin with _start, main and
 * PostmasterMain, which say nothing.
 */
static int
compare_rows(const void *a, const void *b)
{
	const PlhTopRow *left = *(PlhTopRow *const *) a;
	const PlhTopRow *right = *(PlhTopRow *const *) b;

	if (left->flat_bytes != right->flat_bytes)
		return left->flat_bytes < right->flat_bytes ? 1 : -1;
	if (left->cum_bytes != right->cum_bytes)
		return left->cum_bytes < right->cum_bytes ? 1 : -1;
	return strcmp(left->name, right->name);
}

PlhTopRow **
plh_top_make(const PlhSiteList *list, PlhTopKind kind, int *count)
{
	Sums		sums = {.names = plh_text_numbers_make(),.room = 1024};
	StringInfoData buffer;

	sums.rows = palloc(sizeof(PlhTopRow *) * sums.room);
	initStringInfo(&buffer);
	for (int i = 0; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		count_stack(&sums, &list->sites[i], i, kind, &buffer);
	}

	qsort(sums.rows, sums.count, sizeof(PlhTopRow *), compare_rows);
	*count = sums.count;
	return sums.rows;
}
