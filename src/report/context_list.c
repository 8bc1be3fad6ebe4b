/*
 * context_list.c
 *	  The memory contexts of a process by name and lifetime: their sizes, and what they are of.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "base/plural.h"
#include "profile/site_facts.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/context_list.h"
#include "report/one_line.h"
#include "report/words.h"

/* What statement_text.c leaves of a text of which nothing may be shown. */
#define NOTHING_KEPT "..."

static void
add(PlhContextList *list, const PlhListedContext *context)
{
	list->contexts = plh_array_grow(list->contexts, list->count, &list->room,
									sizeof(PlhListedContext));
	list->contexts[list->count++] = *context;
}

static void
add_sites(PlhContextList *list, const PlhProfileImage *image, const PlhBaseline *baseline)
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

		add(list, &context);
	}
}

static void
add_counts(PlhContextList *list, const PlhProfileImage *image)
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
			add(list, &context);
	}
}

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

PlhContextList *
plh_context_list_make(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	PlhContextList *list = palloc0(sizeof(PlhContextList));

	list->room = 256;
	list->contexts = palloc(sizeof(PlhListedContext) * list->room);
	add_sites(list, image, baseline);
	add_counts(list, image);
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

/* Are there many fewer contexts than when examples were taken?  Those may be gone. */
static bool
is_outdated(const PlhContextRecord *record)
{
	return record->instances < record->looked_contexts - record->looked_contexts / 4 ||
		record->bytes < record->looked_bytes - record->looked_bytes / 4;
}

static bool
is_counted(const PlhExampleRecord *example)
{
	return (example->flags & PLH_EXAMPLE_UNCOUNTED) == 0;
}

/* What an example tells of the contexts, and of how many. */
static char *
example_text(const PlhExampleRecord *example, const PlhProfileImage *image, int columns)
{
	const char *whole = plh_database_text_fit_foreign(example->text, example->text_bytes,
													  image->header->encoding);
	const char *text;

	/* it may be a statement, and names are none of its literals */
	if (strcmp(whole, NOTHING_KEPT) == 0)
		text = "a statement whose text is not kept";
	else
		text = plh_one_line(plh_redaction_statement(whole), columns);
	if (!is_counted(example))
		return pstrdup(text);
	return psprintf("%s%s" INT64_FORMAT " %s (%s) %s %s",
					example->flags & PLH_EXAMPLE_AT_LEAST ? "at least " : "",
					example->flags & PLH_EXAMPLE_ABOUT ? "about " : "",
					example->contexts,
					plh_plural(example->contexts, "context", "contexts"),
					plh_words_size(example->bytes),
					example->flags & PLH_EXAMPLE_VARIES ? "such as" : "of", text);
}

/* Fills in the examples that have a text.  Returns how many there are. */
static int
find_examples(const PlhExampleRecord *examples[PLH_EXAMPLES],
			  const PlhContextRecord *record, const PlhProfileImage *image)
{
	const PlhExampleRecord *example;
	uint32		offset = record->examples;
	int			count = 0;

	for (int i = 0; i < PLH_EXAMPLES &&
		 (example = plh_profile_image_example(image, offset)) != NULL; i++)
	{
		if (example->text_bytes > 0)
			examples[count++] = example;
		offset = example->next;
	}
	return count;
}

bool
plh_context_list_has_counts(const PlhContextRecord *record, const PlhProfileImage *image)
{
	const PlhExampleRecord *examples[PLH_EXAMPLES];
	int			found = find_examples(examples, record, image);

	while (found > 0 && !is_counted(examples[found - 1]))
		found--;
	return found > 0;
}

int
plh_context_list_examples(const PlhContextRecord *record,
						  const PlhProfileImage *image, int columns,
						  char *texts[PLH_EXAMPLES])
{
	const PlhExampleRecord *examples[PLH_EXAMPLES];
	bool		any_counted;
	int			found;
	int			count = 0;

	if (record == NULL || is_outdated(record))
		return 0;
	found = find_examples(examples, record, image);
	any_counted = plh_context_list_has_counts(record, image);
	for (int i = 0; i < found; i++)
	{
		/* one of many says nothing beside those that have most */
		if (is_counted(examples[i]) || !any_counted)
			texts[count++] = example_text(examples[i], image, columns);
	}
	return count;
}
