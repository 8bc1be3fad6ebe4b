/*
 * site_list.c
 *	  The call sites of a process, a dump or all processes together, with their stacks as text.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/settings.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "profile/statement_shape.h"
#include "reader/collections.h"
#include "reader/site_owner.h"
#include "report/site_list.h"
#include "report/words.h"

/*
 * Describe the stack of the last site of a list.  Sites that share a stack share its description,
 * too: many statements may run into the same functions.  "described" has, by the offsets of stacks,
 * 1 + the number of a site.
 */
static void
describe_last(PlhSiteList *list, PlhStackTexts *texts, HTAB *described)
{
	PlhListedSite *listed = &list->sites[list->count - 1];
	uint32	   *number = listed->facts.stack == NULL ? NULL :
		plh_number_of(described, plh_profile_image_offset(list->image, listed->facts.stack));

	if (number != NULL && *number != 0)
	{
		listed->has_stack = true;
		listed->stack = list->sites[*number - 1].stack;
		return;
	}
	plh_listed_site_describe_stack(listed, texts);
	if (number != NULL)
		*number = list->count;
}

PlhSiteList *
plh_site_list_make(PlhSymbols *symbols, const PlhProfileImage *image,
				   const PlhBaseline *baseline, TimestampTz at)
{
	PlhSiteList *list = palloc0(sizeof(PlhSiteList));
	PlhStackTexts *texts = plh_stack_text_open(symbols, image);
	HTAB	   *described = plh_hash_table("pg_leakhunt record numbers",
										   sizeof(uint32), sizeof(PlhNumberEntry));
	PlhSiteOwner *owner = palloc(sizeof(PlhSiteOwner));
	PlhSiteFacts facts;
	uint32		position = 0;
	int			room = 64;

	plh_site_owner_fill(owner, image, PLH_OWNER_ALL);
	list->image = image;
	list->growth = baseline != NULL;
	list->since = baseline != NULL ? baseline->taken_at : 0;
	list->at = image->crashed ? plh_profile_image_ended_at(image->header) : at;
	list->sites = palloc(sizeof(PlhListedSite) * room);
	while (plh_site_facts_next(&facts, image, baseline, &position))
	{
		PlhListedSite *listed;

		CHECK_FOR_INTERRUPTS();
		list->sites = plh_array_grow(list->sites, list->count, &room, sizeof(PlhListedSite));
		listed = &list->sites[list->count++];
		plh_listed_site_start(listed, image, &facts);
		describe_last(list, texts, described);
		listed->owner = owner;
		listed->old_bytes = facts.baseline_bytes;
		listed->old_count = facts.baseline_count;
	}
	return list;
}

PlhSiteList *
plh_site_list_make_merged(PlhSymbols *symbols, const PlhMergedProfiles *merged, bool growth,
						  TimestampTz at)
{
	PlhSiteList *list = plh_site_list_make(symbols, merged->image, growth ? merged->baseline : NULL,
										   at);

	list->merged = merged;
	Assert(list->count == (int) merged->image->header->site_count);
	for (int i = 0; i < list->count; i++)
		list->sites[i].owner = merged->sites[i].owner;
	return list;
}

const char *
plh_site_list_title(const PlhSiteList *list)
{
	const PlhMergedProfiles *merged = list->merged;

	if (merged == NULL)
		return psprintf("%s %d", plh_profile_image_backend_type(list->image),
						list->image->header->pid);
	return psprintf("%d %s%s", merged->process_count,
					merged->process_count == 1 ? "process" : "processes",
					merged->crashed_count == 0 ? "" :
					psprintf(" (%d crashed)", merged->crashed_count));
}

const char *
plh_site_list_interval(const PlhSiteList *list)
{
	const PlhMergedProfiles *merged = list->merged;

	if (merged == NULL || merged->least_interval == merged->most_interval)
		return plh_words_interval(list->image->header->sample_interval);
	return psprintf("one sample in %s to %s", plh_words_size(merged->least_interval),
					plh_words_size(merged->most_interval));
}

const char *
plh_site_list_scope(const PlhSiteList *list)
{
	if (list->merged != NULL && list->merged->scopes_differ)
		return "long-lived contexts, of some processes all contexts";
	return list->image->header->scope == PLH_SCOPE_LONG_LIVED ?
		"long-lived contexts" : "all contexts";
}

void
plh_site_list_take_peak(PlhSiteList *list)
{
	list->peak = true;
	if (list->image->header->peak_at != 0)
		list->at = list->image->header->peak_at;
	for (int i = 0; i < list->count; i++)
	{
		list->sites[i].bytes = list->sites[i].facts.peak_bytes;
		list->sites[i].count = 0;
	}
}

static void
keep_routines(PlhStackText *stack)
{
	static PlhFrameText no_routine = {.text = PLH_NO_ROUTINE_NAME};
	int			count = 0;

	for (int i = 0; i < stack->frame_count; i++)
		if (stack->frames[i].language != PLH_LANGUAGE_NONE)
			stack->frames[count++] = stack->frames[i];
	if (count == 0)
	{
		stack->frames = &no_routine;
		count = 1;
	}
	stack->frame_count = count;
	stack->site_frame = 0;
	stack->site = stack->frames[0].text;
}

void
plh_site_list_keep_routines(PlhSiteList *list)
{
	for (int i = 0; i < list->count; i++)
		keep_routines(&list->sites[i].stack);
}

static int
compare_texts(const char *left, const char *right)
{
	if (left == NULL || right == NULL)
		return (left != NULL) - (right != NULL);
	return strcmp(left, right);
}

/*
 * Compare two sites of two dumps.  Statements with an id may be worded differently, and names of
 * functions may be known for one dump only.  Sites without a stack differ by whether they have a
 * context.
 */
static int
compare_sites(const void *a, const void *b)
{
	const PlhListedSite *left = a;
	const PlhListedSite *right = b;
	int			order;

	if (left->stack.stack_id != right->stack.stack_id)
		return left->stack.stack_id < right->stack.stack_id ? -1 : 1;
	if (left->query_id != right->query_id)
		return left->query_id < right->query_id ? -1 : 1;
	order = compare_texts(left->context_name, right->context_name);
	if (order == 0)
		order = compare_texts(left->lifetime, right->lifetime);
	if (order != 0 || left->query_id != 0)
		return order;

	/* statements without an id are the same even if literals differ */
	return left->query == NULL || right->query == NULL ? compare_texts(left->query, right->query) :
		plh_statement_shape_compare(left->query, strlen(left->query),
									right->query, strlen(right->query));
}

void
plh_site_list_subtract(PlhSiteList *newer, const PlhSiteList *older)
{
	int			newer_count = newer->count;
	PlhListedSite *sorted = palloc(sizeof(PlhListedSite) * Max(older->count, 1));

	memcpy(sorted, older->sites, sizeof(PlhListedSite) * older->count);
	qsort(sorted, older->count, sizeof(PlhListedSite), compare_sites);
	qsort(newer->sites, newer_count, sizeof(PlhListedSite), compare_sites);
	newer->growth = true;
	newer->since = older->at;
	newer->sites = repalloc_huge(newer->sites, sizeof(PlhListedSite) *
								 (newer_count + older->count + 1));
	for (int i = 0, j = 0; i < older->count; i++)
	{
		PlhListedSite *old = &sorted[i];

		CHECK_FOR_INTERRUPTS();
		while (j < newer_count && compare_sites(&newer->sites[j], old) < 0)
			j++;
		if (j < newer_count && compare_sites(&newer->sites[j], old) == 0)
		{
			/* of several that are the same in all that is compared, the first */
			newer->sites[j].old_bytes += old->bytes;
			newer->sites[j].old_count += old->count;
			continue;
		}
		old->old_bytes = old->bytes;
		old->old_count = old->count;
		old->bytes = old->count = 0;
		newer->sites[newer->count++] = *old;
	}
}
