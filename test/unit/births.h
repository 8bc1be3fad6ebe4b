/*
 * births.h
 *	  When samples of sites were born, and how to free them where a test has not kept it.
 */
#ifndef BIRTHS_H
#define BIRTHS_H

#include "profile/profile_counters.h"
#include "profile/profile_records.h"

/* When samples of a site were born, wherever that is kept. */
typedef struct BirthsOfSite
{
	PlhBirths	births;
	PlhSpan		spans[PLH_SPANS];
} BirthsOfSite;

static inline BirthsOfSite
births_of(uint32 site_offset)
{
	const PlhSiteRecord *site = plh_profile_records_at(site_offset);
	BirthsOfSite all = {site->births, {{site->counters.live_bytes, site->born_bytes}}};

	if (site->spans != 0)
	{
		const PlhSpansRecord *record = plh_profile_records_at(site->spans);

		all.births = record->births;
		memcpy(all.spans, record->spans, sizeof(all.spans));
	}
	return all;
}

/* Subtract a sample from a site, the oldest that it has. */
static inline void
subtract_oldest(uint32 site_offset, Size size, PlhDraw draw)
{
	BirthsOfSite all = births_of(site_offset);
	uint32		span = 0;

	while (span < PLH_SPANS - 1 && all.spans[span].live_bytes < (int64) size)
		span++;
	plh_profile_counters_subtract(site_offset, size, draw,
								  all.births.first_tick + (span << all.births.shift));
}

#endif							/* BIRTHS_H */
