/*
 * kept_memory.c
 *	  What counts tell of memory that malloc keeps although it was freed: since when it does,
 *	  whether it uses it again, and who had it.
 */
#include "postgres.h"

#include "base/settings.h"
#include "judge/course.h"
#include "judge/kept_memory.h"
#include "judge/suspect.h"

/* The point of the history since which malloc has kept much; NULL: it has since the last count. */
static const PlhHistoryPoint *
first_kept(const PlhProfileHeader *header)
{
	const PlhHistoryPoint *first = NULL;

	for (uint32 i = Min(header->history_count, PLH_HISTORY_POINTS); i > 0; i--)
	{
		const PlhHistoryPoint *point = &header->history[i - 1];

		if (point->malloc_free_bytes < PLH_SUSPECT_KEPT_BYTES)
			break;
		first = point;
	}
	return first;
}

/*
 * What has been added since then both to what is free and to private memory.  What a statement
 * frees that had it before malloc kept anything is no news.
 */
static int64
added_since(const PlhProfileHeader *header, const PlhHistoryPoint *first)
{
	int64		kept = plh_course_sound(header->malloc_free_bytes) -
		plh_course_sound(first->malloc_free_bytes);
	int64		own = plh_course_sound(header->own_bytes) - plh_course_sound(first->own_bytes);
	int64		added = Min(kept, own);

	return added >= PLH_SUSPECT_LARGE_BYTES ? added : 0;
}

PlhKeptMemory
plh_kept_memory_find(const PlhProfileHeader *header)
{
	const PlhHistoryPoint *first = first_kept(header);
	PlhKeptMemory kept = {
		.bytes = plh_course_sound(header->malloc_free_bytes),
		.since = header->census_at,
		.context_bytes = plh_course_most_in_contexts(header, header->census_at)
	};
	int64		from_contexts = kept.context_bytes - plh_course_sound(header->context_bytes);

	if (first != NULL)
	{
		kept.since = Min(kept.since, first->at);
		kept.added_bytes = added_since(header, first);
	}

	/* what was freed before the first count, or unseen, contexts may have had */
	kept.is_from_outside = first != NULL && first > header->history &&
		header->sample_interval > 0 && header->scope != PLH_SCOPE_LONG_LIVED &&
		from_contexts < kept.bytes / 2;
	return kept;
}

/*
 * At least so much of what is free now came to the process since then: what it has gained, but for
 * all that is in use.
 */
int64
plh_kept_memory_came_since(const PlhProfileHeader *header, TimestampTz since)
{
	int64		gained = plh_course_gained_since(header, PLH_SERIES_OWN, since);
	int64		used = Max(0, plh_course_sound(header->own_bytes) -
						   plh_course_sound(header->malloc_free_bytes));

	return Max(0, gained - used);
}
