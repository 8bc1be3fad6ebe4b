/*
 * context_list.c
 *	  The memory contexts of a process by name and lifetime: what the last census counted of
 *	  them, and what the call sites in them hold.
 */
#include "postgres.h"

#include "profile/site_facts.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "report/context_list.h"

/* The list, and for how many contexts there is room. */
typedef struct Building
{
	PlhContextList *list;
	int			room;
} Building;

/* Enter what is known of one site, or of a census' record. */
static void
add(Building *building, const PlhListedContext *context)
{
	PlhContextList *list = building->list;

	list->contexts = plh_array_grow(list->contexts, list->count, &building->room,
									sizeof(PlhListedContext));
	list->contexts[list->count++] = *context;
}

/* Enter the sites one by one. */
static void
add_sites(Building *building, const PlhProfileImage *image, const PlhBaseline *baseline)
{
	PlhSiteFacts facts;
	uint32		position = 0;

	while (plh_site_facts_next(&facts, image, baseline, &position))
	{
		const PlhListedContext context = {
			.name = facts.context == NULL ? 0 : facts.site->key.context_name,
			.lifetime = facts.site->key.lifetime,
			.live_bytes = facts.counters->live_bytes,
			.live_count = facts.counters->live_count,
			.baseline_bytes = facts.baseline_bytes,
			.sites = 1
		};

		add(building, &context);
	}
}

/* Enter what the last census has counted. */
static void
add_counts(Building *building, const PlhProfileImage *image)
{
	const PlhContextRecord *record;
	uint32		position = 0;

	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
	{
		const PlhListedContext context = {
			.name = record->context_name,
			.lifetime = record->lifetime,
			.record = record,
			.instances = record->instances,
			.context_bytes = record->bytes
		};

		if (record->instances > 0 && plh_profile_image_string(image, record->context_name) != NULL)
			add(building, &context);
	}
}

/* qsort comparator: by what tells one row from another. */
static int
compare_keys(const void *a, const void *b)
{
	const PlhListedContext *left = a;
	const PlhListedContext *right = b;

	if (left->name != right->name)
		return left->name < right->name ? -1 : 1;
	return left->lifetime != right->lifetime ? (left->lifetime < right->lifetime ? -1 : 1) : 0;
}

/* qsort comparator: the larger of its two figures tells how large one is. */
static int
compare_sizes(const void *a, const void *b)
{
	const PlhListedContext *left = a;
	const PlhListedContext *right = b;
	int64		left_bytes = Max(left->context_bytes, left->live_bytes);
	int64		right_bytes = Max(right->context_bytes, right->live_bytes);

	return left_bytes != right_bytes ? (left_bytes < right_bytes ? 1 : -1) : compare_keys(a, b);
}

/* Add up what stands next to each other under one key. */
static void
merge(PlhContextList *list)
{
	int			merged = 0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedContext *from = &list->contexts[i];
		PlhListedContext *to;

		if (merged == 0 || compare_keys(&list->contexts[merged - 1], from) != 0)
		{
			list->contexts[merged++] = *from;
			continue;
		}
		to = &list->contexts[merged - 1];
		if (to->record == NULL)
			to->record = from->record;
		to->instances += from->instances;
		to->context_bytes += from->context_bytes;
		to->live_bytes += from->live_bytes;
		to->live_count += from->live_count;
		to->baseline_bytes += from->baseline_bytes;
		to->sites += from->sites;
	}
	list->count = merged;
}

/*
 * The contexts of an image, in the current memory context.  "baseline" is NULL where there is none.
 */
PlhContextList *
plh_context_list_make(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	Building	building = {.room = 256};
	PlhContextList *list = palloc(sizeof(PlhContextList));

	list->count = 0;
	list->contexts = palloc(sizeof(PlhListedContext) * building.room);
	building.list = list;
	add_sites(&building, image, baseline);
	add_counts(&building, image);
	qsort(list->contexts, list->count, sizeof(PlhListedContext), compare_keys);
	merge(list);
	qsort(list->contexts, list->count, sizeof(PlhListedContext), compare_sizes);
	return list;
}

const char *
plh_context_list_name(const PlhProfileImage *image, uint32 name)
{
	const PlhStringRecord *string = plh_profile_image_string(image, name);

	return string == NULL ? NULL :
		plh_database_text_fit_foreign(string->text, string->text_bytes, image->header->encoding);
}
