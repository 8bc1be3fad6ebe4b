/*
 * dump_sites.c
 *	  Which sites of an image a dump has, and in which order.
 */
#include "postgres.h"

#include "dump/dump_sites.h"

/* What sites are sorted by. */
typedef struct PlhDumpSiteKey
{
	uint32		stack;
	uint32		context_name;
	uint32		lifetime;
	uint32		site;			/* offset */
} PlhDumpSiteKey;

uint32
plh_dump_sites_stack(const PlhSiteFacts *facts)
{
	uint32		stack = facts->site->key.stack;

	return facts->stack != NULL || stack == PLH_FORMER_STACKS ? stack : 0;
}

/* Do two sites differ in the statement only? */
static bool
is_same_but_statement(const PlhDumpSiteKey *a, const PlhDumpSiteKey *b)
{
	return a->stack == b->stack && a->context_name == b->context_name &&
		a->lifetime == b->lifetime;
}

/* qsort's comparator: by the fields in their order. */
static int
compare_keys(const void *left, const void *right)
{
	const uint32 *a = left;
	const uint32 *b = right;

	for (int i = 0; i < sizeof(PlhDumpSiteKey) / sizeof(uint32); i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* Is there nothing to be said of a site but what it once allocated? */
static bool
is_empty(const PlhSiteFacts *facts)
{
	return facts->counters->live_count == 0 &&
		facts->counters->live_bytes == 0 &&
		facts->counters->live_samples == 0 && facts->peak_bytes == 0 &&
		facts->baseline_bytes == 0 && facts->baseline_count == 0;
}

/* Count the sites of the image, and those of them that are empty. */
static uint32
count_sites(const PlhDumpSites *sites, uint32 *empty)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	uint32		count = 0;

	*empty = 0;
	while (plh_site_facts_next(&facts, sites->image, sites->baseline, &position))
	{
		count++;
		*empty += is_empty(&facts);
	}
	return count;
}

/* Take memory for the keys and the bits.  Returns false if there is none. */
static bool
take_memory(PlhDumpSites *sites, uint32 count)
{
	Size		key_bytes = sizeof(PlhDumpSiteKey) * count;
	Size		bytes = key_bytes + sites->image->bytes / 64 + 1;

	if (!plh_private_memory_reserve(&sites->memory, bytes) ||
		!plh_private_memory_commit(&sites->memory, bytes))
	{
		plh_private_memory_discard(&sites->memory);
		return false;
	}
	sites->keys = (PlhDumpSiteKey *) sites->memory.base;
	sites->named = (uint8 *) sites->memory.base + key_bytes;
	return true;
}

/*
 * Begin with the sites of an image.  plh_dump_sites_close must follow.
 */
void
plh_dump_sites_open(PlhDumpSites *sites, const PlhProfileImage *image,
					const PlhBaseline *baseline)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	uint32		empty;
	uint32		count;

	memset(sites, 0, sizeof(*sites));
	sites->image = image;
	sites->baseline = baseline;
	count = count_sites(sites, &empty);
	if (!take_memory(sites, count))
		return;
	sites->folds = empty > PLH_DUMP_EMPTY_SITES;
	while (sites->count < count &&
		   plh_site_facts_next(&facts, image, baseline, &position))
	{
		PlhDumpSiteKey *key = &sites->keys[sites->count++];

		key->stack = plh_dump_sites_stack(&facts);
		key->context_name = facts.site->key.context_name;
		key->lifetime = facts.site->key.lifetime;
		key->site = plh_profile_image_offset(image, facts.site);
	}
	pg_qsort(sites->keys, sites->count, sizeof(PlhDumpSiteKey), compare_keys);
}

/*
 * Give the memory back.
 */
void
plh_dump_sites_close(PlhDumpSites *sites)
{
	plh_private_memory_discard(&sites->memory);
}

/*
 * Begin anew with the first site.
 */
void
plh_dump_sites_rewind(PlhDumpSites *sites)
{
	sites->next = 0;
	sites->pending = 0;
	sites->folded = 0;
}

/* Fold an empty site into the one that is pending, or make it that. */
static void
fold(PlhDumpSites *sites, const PlhSiteFacts *facts)
{
	PlhCounters *sums = &sites->pending_counters;
	const PlhCounters *counters = facts->counters;

	if (sites->pending++ == 0)
	{
		sites->pending_facts = *facts;
		*sums = *counters;
		return;
	}
	sites->folded++;
	sites->pending_facts.statement = NULL;
	sums->total_bytes += counters->total_bytes;
	sums->total_count += counters->total_count;
	sums->total_samples += counters->total_samples;
	sums->first_at = Min(sums->first_at, counters->first_at);
	sums->last_at = Max(sums->last_at, counters->last_at);
}

/* Has the pending site got all that are to be folded into it? */
static bool
is_pending_complete(const PlhDumpSites *sites)
{
	return sites->pending > 0 &&
		(sites->next == sites->count ||
		 !is_same_but_statement(&sites->keys[sites->next],
								&sites->keys[sites->next - 1]));
}

/*
 * Fill in the facts of the next site.  Returns false at the end.
 */
bool
plh_dump_sites_next(PlhDumpSites *sites, PlhSiteFacts *facts)
{
	if (sites->keys == NULL)
		return plh_site_facts_next(facts, sites->image, sites->baseline,
								   &sites->next);
	for (;;)
	{
		const PlhSiteRecord *site;

		if (is_pending_complete(sites))
		{
			*facts = sites->pending_facts;
			facts->counters = &sites->pending_counters;
			sites->pending = 0;
			return true;
		}
		if (sites->next == sites->count)
			return false;
		site = plh_profile_image_site(sites->image,
									  sites->keys[sites->next++].site);
		if (site == NULL)
			continue;
		plh_site_facts_resolve(facts, sites->image, site, sites->baseline);
		if (!sites->folds || !is_empty(facts))
			return true;
		fold(sites, facts);
	}
}

/*
 * Note that the record at an offset is named now.
 */
bool
plh_dump_sites_name(PlhDumpSites *sites, uint32 offset)
{
	uint8	   *byte;
	uint8		bit = 1 << offset / 8 % 8;

	Assert(offset < sites->image->bytes);
	if (sites->keys == NULL)
		return true;
	byte = &sites->named[offset / 64];
	if (*byte & bit)
		return false;
	*byte |= bit;
	return true;
}
