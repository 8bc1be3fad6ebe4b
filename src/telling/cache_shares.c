/*
 * cache_shares.c
 *	  Whose code has filled one of PostgreSQL's caches: extensions allocate in them, too.
 */
#include "postgres.h"

#include "judge/site_suspects.h"
#include "telling/cache_shares.h"
#include "telling/site_family.h"

/* The planner's function that reads statistics of columns that a statement compares. */
#define STATISTICS_READER "examine_variable"

/* That a column has no statistics is kept, too, in chunks that are smaller than this. */
#define STATISTICS_BYTES 1024

static bool
reads_statistics(const PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count; i++)
		if (stack->frames[i].function != NULL &&
			strcmp(stack->frames[i].function, STATISTICS_READER) == 0)
			return true;
	return false;
}

static void
add_site(PlhCacheShares *shares, const PlhProfileImage *image, const PlhSiteRecord *site,
		 PlhStackTexts *stacks)
{
	const PlhStackRecord *record = plh_profile_image_stack(image, site->key.stack);
	const PlhStringRecord *name = plh_profile_image_string(image, site->key.context_name);
	PlhStackText stack;

	shares->bytes += site->counters.live_bytes;
	if (record == NULL || name == NULL)
		return;
	plh_stack_text_describe(stacks, record, &stack);
	if (!plh_site_family_fills_cache(&stack, name->text))
		return;
	shares->server_bytes += site->counters.live_bytes;
	if (reads_statistics(&stack) &&
		site->counters.live_bytes >= STATISTICS_BYTES * site->counters.live_count)
		shares->statistics_bytes += site->counters.live_bytes;
}

void
plh_cache_shares_find(PlhCacheShares *shares, const PlhFamily *family,
					  const PlhProfileImage *image, PlhStackTexts *stacks)
{
	const PlhSiteRecord *site;
	uint32		position = 0;

	memset(shares, 0, sizeof(*shares));
	if (stacks == NULL)
		return;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		if (site->counters.live_samples > 0 && plh_lifetime_is_lasting(site->key.lifetime) &&
			plh_site_suspects_family(image, site) == family)
			add_site(shares, image, site, stacks);
}
