/*
 * site_facts.c
 *	  What an image says of one call site, with all that the site refers to.
 *
 * Runs inside palloc.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"

/* A damaged dump may have a variance that no process ever has. */
#define MAX_ERROR_BYTES ((double) (PG_INT64_MAX / 2))

/*
 * Fill in the facts about a site of the image.  "baseline" is the one that goes
 * with the image, or NULL.
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
	facts->statement = plh_profile_image_statement(image, key->statement);
	facts->stack = plh_profile_image_stack(image, key->stack);
	facts->error_bytes = (int64)
		Min(plh_sampling_error_bytes(counters->live_variance,
									 counters->live_bytes,
									 counters->live_samples),
			MAX_ERROR_BYTES);
	facts->peak_bytes = plh_profile_image_peak_bytes(image, site);
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
