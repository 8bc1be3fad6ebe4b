/*
 * site_ages.c
 *	  When a call site allocated what it holds.
 *
 * Runs inside palloc.
 *
 * A record may come from a damaged file: then its spans do not add up, and nothing is said of ages.
 */
#include "postgres.h"

#include "common/int.h"

#include "base/sampling.h"
#include "profile/site_ages.h"

#define MAX_SAMPLES 1e15
#define MAX_ERROR_BYTES ((double) (PG_INT64_MAX / 2))

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
plh_site_ages_add_up(const PlhSiteRecord *site, const PlhSpansRecord *spans)
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

/* The bound of the error of a part of a site's live bytes. */
static int64
error_of(const PlhCounters *counters, int64 bytes)
{
	double		part = counters->live_bytes <= 0 ? 0.0 :
		(double) bytes / (double) counters->live_bytes;
	double		samples = part * (double) counters->live_samples;

	/* the site's figures may come from a damaged file */
	return (int64) Min(plh_sampling_error_bytes(part * counters->live_variance, bytes,
												(int64) Max(1.0, Min(samples, MAX_SAMPLES))),
					   MAX_ERROR_BYTES);
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
plh_site_ages_list(PlhSiteAge ages[PLH_SPANS], const PlhProfileImage *image,
				   const PlhSiteRecord *site, TimestampTz now)
{
	const PlhSpansRecord *record = plh_profile_image_at(image, site->spans, PLH_RECORD_SPANS);
	const PlhSpan life = {site->counters.live_bytes, site->born_bytes};
	const PlhSpan *spans = &life;
	const PlhBirths *births = &site->births;
	int			span_count = 1;
	int			count = 0;

	if (record != NULL && plh_site_ages_add_up(site, record))
	{
		spans = record->spans;
		births = &record->births;
		span_count = PLH_SPANS;
	}
	if (image->header->first_tick_at == 0 || births->shift >= 32 ||
		!plh_site_ages_add_up(site, NULL))
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
