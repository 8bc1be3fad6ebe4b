/*
 * site_ages.h
 *	  When a call site allocated what it holds.
 *
 * Callable inside palloc: nothing is allocated.
 */
#pragma once

#include "profile/profile_image.h"

/* What a site allocated from one time up to another. */
typedef struct PlhSiteAge
{
	TimestampTz from;
	TimestampTz until;
	int64		live_bytes;		/* of total_bytes, what was not freed */
	int64		total_bytes;	/* never 0 */
	int64		error_bytes;	/* 95% bound of live_bytes, as if the site's
								 * chunks were of about the same size */
} PlhSiteAge;

/*
 * Do the spans of a site add up to what it holds?  "spans" is the record that it refers to; NULL if
 * there is none, or it can't be had.
 */
extern bool plh_site_ages_add_up(const PlhSiteRecord *site, const PlhSpansRecord *spans);

/*
 * Fills in the ages of a site, the oldest first, and returns their number; 0 where they are not
 * known.  The figures were true at "now".
 */
extern int	plh_site_ages_list(PlhSiteAge ages[PLH_SPANS], const PlhProfileImage *image,
							   const PlhSiteRecord *site, TimestampTz now);
