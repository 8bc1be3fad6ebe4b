/*
 * site_facts.c
 *	  What an image says of one call site, with all that the site refers to.
 *
 * Runs inside palloc.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "profile/site_facts.h"

/* A damaged dump may have a variance that no process ever has. */
#define MAX_ERROR_BYTES ((double) (PG_INT64_MAX / 2))

/*
 * Returns a record that a site refers to; NULL instead of one that is younger than the site.  In a
 * copy that was made while the owner gave up records and made new ones, such a record stands where
 * the one that was meant had been.
 */
static const void *
not_younger(const PlhSiteRecord *site, const PlhRecord *record)
{
	return record != NULL && record->born <= site->record.born ? record : NULL;
}

/*
 * Fill in the facts about a site of the image.  "baseline" is the one that goes with the image, or
 * NULL.
 */
void
plh_site_facts_resolve(PlhSiteFacts *facts, const PlhProfileImage *image,
					   const PlhSiteRecord *site, const PlhBaseline *baseline)
{
	const PlhSiteKey *key = &site->key;
	const PlhCounters *counters = &site->counters;

	memset(facts, 0, sizeof(*facts));
	facts->site = site;
	facts->counters = counters;
	facts->context = plh_profile_image_string(image, key->context_name);
	if (facts->context != NULL)
		facts->lifetime = plh_profile_image_lifetime_name(key->lifetime);
	facts->statement = not_younger(site, (const PlhRecord *)
								   plh_profile_image_statement(image, key->statement));
	facts->stack = not_younger(site, (const PlhRecord *)
							   plh_profile_image_stack(image, key->stack));
	facts->error_bytes = (int64)
		Min(plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									 counters->live_samples),
			MAX_ERROR_BYTES);
	facts->peak_bytes = plh_site_peak_bytes(image->header, site);
	facts->has_baseline = baseline != NULL;
	if (facts->has_baseline)
		plh_baseline_site(baseline, plh_profile_image_offset(image, site),
						  &facts->baseline_bytes, &facts->baseline_count);
}

/*
 * Resolve the next site at *position or behind that ever had a sample, and move
 * *position on; start with 0.  Returns false at the end.
 */
bool
plh_site_facts_next(PlhSiteFacts *facts, const PlhProfileImage *image,
					const PlhBaseline *baseline, uint32 *position)
{
	const PlhSiteRecord *site;

	while ((site = plh_profile_image_next_site(image, position)) != NULL)
	{
		if (site->counters.total_samples == 0)
			continue;
		plh_site_facts_resolve(facts, image, site, baseline);
		return true;
	}
	return false;
}

void
plh_site_facts_sum(PlhCounters *sums, const PlhCounters *counters)
{
	sums->live_bytes += counters->live_bytes;
	sums->live_count += counters->live_count;
	sums->total_bytes += counters->total_bytes;
	sums->total_count += counters->total_count;
	sums->live_samples += counters->live_samples;
	sums->total_samples += counters->total_samples;
	sums->live_variance += counters->live_variance;
	if (sums->first_at == 0 || sums->first_at > counters->first_at)
		sums->first_at = counters->first_at;
	sums->last_at = Max(sums->last_at, counters->last_at);
}
