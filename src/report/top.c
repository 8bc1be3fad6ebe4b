/*
 * top.c
 *	  Sums over call sites per function, line, binary or memory context, as
 *	  jeprof's "top --cum" has them.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "report/top.h"

/* An entry of the hash table, by name. */
typedef struct NameEntry
{
	const char *name;			/* key: the text, not the pointer */
	PlhTopRow  *row;
} NameEntry;

static uint32
hash_name(const void *key, Size keysize)
{
	const char *name = *(const char *const *) key;

	return hash_bytes((const unsigned char *) name, strlen(name));
}

static int
compare_names(const void *left, const void *right, Size keysize)
{
	return strcmp(*(const char *const *) left, *(const char *const *) right);
}

/*
 * How users call a kind; NULL behind the last.
 */
const char *
plh_top_kind_name(PlhTopKind kind)
{
	switch (kind)
	{
		case PLH_TOP_FUNCTION:
			return "function";
		case PLH_TOP_LINE:
			return "line";
		case PLH_TOP_MODULE:
			return "module";
		case PLH_TOP_CONTEXT:
			return "context";
	}
	return NULL;
}

/* What a frame is counted as; the text may be in the buffer. */
static const char *
name_of_frame(const PlhFrameText *frame, PlhTopKind kind, StringInfo buffer)
{
	if (kind == PLH_TOP_MODULE)
		return plh_stack_text_module_name(frame);
	if (kind != PLH_TOP_LINE || frame->function == NULL || frame->file == NULL)
		return plh_stack_text_function_name(frame);

	/* not the frame's text: whether it was inlined makes no difference */
	resetStringInfo(buffer);
	appendStringInfo(buffer, "%s (%s:%d)", frame->function,
					 plh_stack_text_base_name(frame->file), frame->line);
	return buffer->data;
}

static PlhTopRow *
find_row(HTAB *table, const char *name)
{
	bool		found;
	NameEntry  *entry = hash_search(table, &name, HASH_ENTER, &found);

	if (!found)
	{
		entry->row = palloc0(sizeof(PlhTopRow));
		entry->row->name = entry->name = pstrdup(name);
		entry->row->last_site = -1;
	}
	return entry->row;
}

/* Count a site for a name: once, however often it is in the stack. */
static void
count_site(PlhTopRow *row, const PlhListedSite *listed, int number, bool flat)
{
	if (flat)
	{
		row->flat_bytes += plh_listed_bytes(listed);
		row->flat_count += plh_listed_count(listed);
	}
	if (row->last_site == number)
		return;
	row->last_site = number;
	row->cum_bytes += plh_listed_bytes(listed);
	row->cum_count += plh_listed_count(listed);
}

/* Count a site for all that is in its stack, or for its context. */
static void
count_stack(HTAB *table, const PlhListedSite *listed, int number,
			PlhTopKind kind, StringInfo buffer)
{
	if (kind == PLH_TOP_CONTEXT)
	{
		count_site(find_row(table, listed->context_name != NULL ?
							listed->context_name : listed->stack.site),
				   listed, number, true);
		return;
	}
	for (int i = 0; i < listed->stack.frame_count; i++)
		count_site(find_row(table, name_of_frame(&listed->stack.frames[i],
												 kind, buffer)),
				   listed, number, i == 0);
}

static int
compare_rows(const void *a, const void *b)
{
	const PlhTopRow *left = *(PlhTopRow *const *) a;
	const PlhTopRow *right = *(PlhTopRow *const *) b;

	if (left->cum_bytes != right->cum_bytes)
		return left->cum_bytes < right->cum_bytes ? 1 : -1;
	if (left->flat_bytes != right->flat_bytes)
		return left->flat_bytes < right->flat_bytes ? 1 : -1;
	return strcmp(left->name, right->name);
}

/*
 * Sum up a list, the most cumulative bytes first.
 */
PlhTopRow **
plh_top_make(const PlhSiteList *list, PlhTopKind kind, int *count)
{
	HASHCTL		control = {
		.keysize = sizeof(const char *),
		.entrysize = sizeof(NameEntry),
		.hash = hash_name,
		.match = compare_names,
		.hcxt = CurrentMemoryContext
	};
	HTAB	   *table = hash_create("pg_leakhunt top", 1024, &control,
									HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
									HASH_CONTEXT);
	HASH_SEQ_STATUS scan;
	NameEntry  *entry;
	PlhTopRow **rows;
	StringInfoData buffer;

	initStringInfo(&buffer);
	for (int i = 0; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		count_stack(table, &list->sites[i], i, kind, &buffer);
	}

	*count = hash_get_num_entries(table);
	rows = palloc_extended(sizeof(PlhTopRow *) * Max(*count, 1),
						   MCXT_ALLOC_HUGE);
	*count = 0;
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
		rows[(*count)++] = entry->row;
	qsort(rows, *count, sizeof(PlhTopRow *), compare_rows);
	return rows;
}
