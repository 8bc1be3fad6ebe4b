/*
 * site_facts.c
 *	  What an image says of one call site, and of when it allocated what it holds.
 *
 * Runs inside palloc.  A record may come from a damaged file.  Where its spans do not add up,
 * nothing is said of ages.
 */
#include "postgres.h"

#include "common/int.h"

#include "base/sampling.h"
#include "profile/site_facts.h"

/* A damaged file may have figures that no process ever has. */
#define MAX_SAMPLES 1e15

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

/* "baseline" is the one that goes with the image, or NULL. */
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
	facts->error_bytes = (int64) plh_sampling_error_bytes(counters->live_variance,
														  counters->live_bytes,
														  counters->live_samples);
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

/* Do the spans of that record add up to those figures? */
static bool
add_up(const PlhSpansRecord *record, int64 live_bytes, int64 born_bytes)
{
	uint64		live_sum = 0;
	uint64		born_sum = 0;

	for (int i = 0; i < PLH_SPANS; i++)
	{
		const PlhSpan *span = &record->spans[i];

		if (span->live_bytes < 0 || span->live_bytes > span->total_bytes)
			return false;
		live_sum += (uint64) span->live_bytes;
		born_sum += (uint64) span->total_bytes;
	}
	return live_sum == (uint64) live_bytes && born_sum == (uint64) born_bytes;
}

bool
plh_site_facts_ages_add_up(const PlhSiteRecord *site, const PlhSpansRecord *spans)
{
	int64		live_bytes = site->counters.live_bytes;

	return live_bytes >= 0 && live_bytes <= site->born_bytes &&
		(spans == NULL || add_up(spans, live_bytes, site->born_bytes));
}

/* When a tick began.  Returns false where that is no time. */
static bool
time_of_tick(const PlhProfileHeader *header, uint64 tick, TimestampTz *time)
{
	return !pg_add_s64_overflow(header->first_tick_at, (int64) (tick << PLH_TICK_BITS), time) &&
		IS_VALID_TIMESTAMP(*time);
}

static int64
error_of(const PlhCounters *counters, int64 bytes)
{
	double		part = counters->live_bytes <= 0 ? 0.0 :
		(double) bytes / (double) counters->live_bytes;
	double		samples = part * (double) counters->live_samples;

	return (int64) plh_sampling_error_bytes(part * counters->live_variance, bytes,
											(int64) Max(1.0, Min(samples, MAX_SAMPLES)));
}

/* Note when a span began and ended.  Returns false where these are no times. */
static bool
set_times(PlhSiteAge *age, const PlhProfileHeader *header, uint64 tick, uint32 shift,
		  TimestampTz now)
{
	if (!time_of_tick(header, tick, &age->from) ||
		!time_of_tick(header, tick + (UINT64CONST(1) << shift), &age->until))
		return false;

	/* the clock may have been set back since */
	age->from = Min(age->from, now);
	age->until = Min(age->until, now);
	return true;
}

int
plh_site_facts_ages(PlhSiteAge ages[PLH_SPANS], const PlhProfileImage *image,
					const PlhSiteRecord *site, TimestampTz now)
{
	const PlhSpansRecord *record = plh_profile_image_at(image, site->spans, PLH_RECORD_SPANS);
	const PlhSpan life = {site->counters.live_bytes, site->born_bytes};
	const PlhSpan *spans = &life;
	const PlhBirths *births = &site->births;
	int			span_count = 1;
	int			count = 0;

	if (record != NULL && plh_site_facts_ages_add_up(site, record))
	{
		spans = record->spans;
		births = &record->births;
		span_count = PLH_SPANS;
	}
	if (image->header->first_tick_at == 0 || births->shift >= 32 ||
		!plh_site_facts_ages_add_up(site, NULL))
		return 0;
	for (int i = 0; i < span_count; i++)
	{
		uint64		tick = births->first_tick + ((uint64) i << births->shift);
		PlhSiteAge *age = &ages[count];

		if (spans[i].total_bytes == 0)
			continue;
		if (!set_times(age, image->header, tick, births->shift, now))
			return 0;
		age->live_bytes = spans[i].live_bytes;
		age->total_bytes = spans[i].total_bytes;
		age->error_bytes = error_of(&site->counters, age->live_bytes);
		count++;
	}
	return count;
}
