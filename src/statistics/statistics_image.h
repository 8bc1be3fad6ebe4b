/*
 * statistics_image.h
 *	  Statistics of memory contexts as a profile that has counted its contexts once, and nothing
 *	  else: so what is known of profiles is said of them, too.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"
#include "statistics/statistics.h"

/* The name of contexts of which the text tells none. */
#define PLH_UNLISTED_NAME "(not listed)"

/* In the current memory context.  The text that they were read from has that encoding. */
extern PlhProfileImage *plh_statistics_image_make(const PlhStatistics *statistics, int encoding);
