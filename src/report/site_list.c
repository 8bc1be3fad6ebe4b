/*
 * site_list.c
 *	  The call sites of a process or a dump, with their stacks as text.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "report/site_list.h"

/* The stack of a site; a single frame that says why there is none. */
static void
describe_stack(PlhListedSite *listed, PlhSymbols *symbols, PlhFrameMemo *memo)
{
	const PlhStackRecord *stack =
		plh_profile_image_stack(listed->image, listed->site->key.stack);
	PlhFrameText *frame;

	/* one without frames, as unwinding failed, must have its bytes counted */
	listed->has_stack = stack != NULL;
	if (listed->has_stack)
	{
		plh_stack_text_describe(memo, symbols, listed->image, stack,
								&listed->stack);
		return;
	}
	frame = palloc0(sizeof(PlhFrameText));
	frame->text = plh_stack_text_absent(listed->site);
	memset(&listed->stack, 0, sizeof(PlhStackText));
	listed->stack.site = frame->text;
	listed->stack.frames = frame;
	listed->stack.frame_count = 1;
}

/* Everything about a site. */
static void
describe_site(PlhListedSite *listed, PlhSymbols *symbols, PlhFrameMemo *memo)
{
	const PlhSiteKey *key = &listed->site->key;
	const PlhStringRecord *context =
		plh_profile_image_string(listed->image, key->context_name);
	const PlhStatementRecord *statement =
		plh_profile_image_statement(listed->image, key->statement);
	int			encoding = listed->image->header->encoding;

	if (context != NULL)
	{
		listed->context_name = plh_database_text_fit_foreign(context->text,
															 context->text_bytes,
															 encoding);
		listed->lifetime = plh_profile_image_lifetime_name(key->lifetime);
	}
	if (statement != NULL)
		listed->query_id = (int64) statement->query_id;
	if (statement != NULL && statement->text_bytes > 0)
		listed->query = plh_database_text_fit_foreign(statement->text,
													  statement->text_bytes,
													  encoding);
	listed->bytes = listed->site->counters.live_bytes;
	listed->count = listed->site->counters.live_count;
	describe_stack(listed, symbols, memo);
}

/*
 * All sites of an image that ever had a sample; what counts is what is live.
 */
PlhSiteList *
plh_site_list_make(PlhSymbols *symbols, const PlhProfileImage *image,
				   TimestampTz at)
{
	PlhSiteList *list = palloc0(sizeof(PlhSiteList));
	PlhFrameMemo *memo = plh_stack_text_memo();
	const PlhSiteRecord *site;
	uint32		position = 0;
	int			room = 64;

	list->image = image;
	list->at = at;
	list->sites = palloc(sizeof(PlhListedSite) * room);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhListedSite *listed;

		CHECK_FOR_INTERRUPTS();
		if (site->counters.total_samples == 0)
			continue;
		if (list->count == room)
		{
			room *= 2;
			list->sites = repalloc_huge(list->sites,
										sizeof(PlhListedSite) * room);
		}
		listed = &list->sites[list->count++];
		memset(listed, 0, sizeof(*listed));
		listed->image = image;
		listed->site = site;
		describe_site(listed, symbols, memo);
	}
	return list;
}

/*
 * What counts is the growth since the baseline of the same process.
 */
void
plh_site_list_subtract_baseline(PlhSiteList *list, const PlhBaseline *baseline)
{
	list->growth = true;
	for (int i = 0; i < list->count; i++)
	{
		PlhListedSite *listed = &list->sites[i];

		CHECK_FOR_INTERRUPTS();
		plh_baseline_site(baseline,
						  plh_profile_image_offset(list->image, listed->site),
						  &listed->old_bytes, &listed->old_count);
	}
}

static int
compare_texts(const char *left, const char *right)
{
	if (left == NULL || right == NULL)
		return (left != NULL) - (right != NULL);
	return strcmp(left, right);
}

/*
 * Are these the same site, in two dumps?  Queries with an id may be worded
 * differently, and names of functions be known for one dump only.  Sites without
 * a stack differ by whether they have a context.
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
	if (order == 0 && left->query_id == 0)
		order = compare_texts(left->query, right->query);
	return order;
}

/*
 * What counts is the growth from one list to another, that may be of another
 * process.  Sites that are only in the older one become some of the newer.
 */
void
plh_site_list_subtract(PlhSiteList *newer, const PlhSiteList *older)
{
	int			newer_count = newer->count;
	PlhListedSite *sorted = palloc(sizeof(PlhListedSite) * Max(older->count, 1));

	memcpy(sorted, older->sites, sizeof(PlhListedSite) * older->count);
	qsort(sorted, older->count, sizeof(PlhListedSite), compare_sites);
	qsort(newer->sites, newer_count, sizeof(PlhListedSite), compare_sites);
	newer->growth = true;
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
