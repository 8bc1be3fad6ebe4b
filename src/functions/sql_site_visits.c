/*
 * sql_site_visits.c
 *	  The call sites of an image one after the other, as the functions of SQL that return rows
 *	  about them go through them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "functions/sql_site_visits.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/collections.h"

/* qsort comparator of records of sites: the most live bytes first. */
static int
compare_sites(const void *a, const void *b)
{
	int64		left = (*(const PlhSiteRecord *const *) a)->counters.live_bytes;
	int64		right = (*(const PlhSiteRecord *const *) b)->counters.live_bytes;

	return left != right ? (left < right ? 1 : -1) : 0;
}

/*
 * The sites of an image that ever had a sample, the most live bytes first.  The image is a copy, so
 * that its figures do not change meanwhile.
 */
static const PlhSiteRecord **
sorted_sites(const PlhProfileImage *image, int *count)
{
	const PlhSiteRecord **sites;
	const PlhSiteRecord *site;
	uint32		position = 0;
	int			room = 256;

	*count = 0;
	sites = palloc(sizeof(*sites) * room);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->counters.total_samples == 0)
			continue;
		sites = plh_array_grow(sites, *count, &room, sizeof(*sites));
		sites[(*count)++] = site;
	}
	qsort(sites, *count, sizeof(*sites), compare_sites);
	return sites;
}

/*
 * Visit the sites of an image that ever had a sample, the most live bytes first.  "baseline" is the
 * one that goes with the image, or NULL.
 */
void
plh_sql_site_visits_make(const PlhProfileImage *image, const PlhBaseline *baseline,
						 PlhSiteVisitor visit, void *arg)
{
	int			count;
	const PlhSiteRecord **sites = sorted_sites(image, &count);
	MemoryContext site_context = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt row",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(site_context);

	for (int i = 0; i < count; i++)
	{
		PlhSiteFacts facts;
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		plh_site_facts_resolve(&facts, image, sites[i], baseline);
		plh_listed_site_start(&listed, image, &facts);
		visit(&listed, arg);
		MemoryContextReset(site_context);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(site_context);
}
