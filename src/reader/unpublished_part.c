/*
 * unpublished_part.c
 *	  What a process holds at sites that are not in the file of its profile.
 *
 * Where there is no room for all of a profile, its file has the figures of the
 * process and a part of its sites, or none.  The difference goes to the row of
 * samples whose call site found no room, so that sites add up to the process.
 */
#include "postgres.h"

#include "profile/site_facts.h"
#include "reader/unpublished_part.h"

/* Sums of the sites in an image. */
typedef struct SiteSums
{
	PlhCounters counters;
	int64		peak_bytes;
} SiteSums;

/*
 * Returns what is missing to a total.  The owner goes on while the file is
 * read, so that the parts may be more than the total.
 */
static int64
missing(int64 total, int64 parts)
{
	return Max(total - parts, 0);
}

/* Add what is missing in the sites' sums to the process' figures to a site. */
static void
add_missing(PlhSiteRecord *site, int64 site_peak_bytes,
			const PlhProfileHeader *header, const SiteSums *sums)
{
	const PlhCounters *all = &header->counters;
	const PlhCounters *seen = &sums->counters;
	PlhCounters *counters = &site->counters;

	counters->live_bytes += missing(all->live_bytes, seen->live_bytes);
	counters->live_count += missing(all->live_count, seen->live_count);
	counters->total_bytes += missing(all->total_bytes, seen->total_bytes);
	counters->total_count += missing(all->total_count, seen->total_count);
	counters->live_samples += missing(all->live_samples, seen->live_samples);
	counters->total_samples += missing(all->total_samples, seen->total_samples);
	counters->live_variance += Max(all->live_variance - seen->live_variance, 0);
	counters->first_at = all->first_at;
	counters->last_at = all->last_at;
	site->peak_bytes = site_peak_bytes +
		missing(header->peak_bytes, sums->peak_bytes);

	/* peak_bytes count from the next change after the peak on */
	site->last_change = Max(site->last_change, header->peak_change + 1);
}

/*
 * Give the catch-all site of the image what the image's other sites lack.
 */
void
plh_unpublished_part_add(const PlhProfileImage *image, PlhProfileHeader *header)
{
	SiteSums	sums = {{0}};
	const PlhSiteRecord *catch_all =
		plh_profile_image_site(image, header->catch_all_site);
	const PlhSiteRecord *site;
	uint32		position = 0;

	if (catch_all == NULL)
		return;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		plh_site_facts_sum(&sums.counters, &site->counters);
		sums.peak_bytes += plh_site_peak_bytes(image->header, site);
	}
	add_missing((PlhSiteRecord *) ((char *) header + header->catch_all_site),
				plh_site_peak_bytes(image->header, catch_all), header, &sums);
}
