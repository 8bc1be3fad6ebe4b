/*
 * doubt_staying.h
 *	  What stays in the session, and why that is no leak.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/cache_shares.h"
#include "telling/doubted.h"

/* The caches that each session fills are smaller than this: more is worth a word. */
#define PLH_DOUBT_GROWN_BYTES (PLH_SUSPECT_LARGE_BYTES / 8)

/*
 * The cache of PostgreSQL's that a site is in, if it is counted.  Extensions allocate in
 * CacheMemoryContext, too: a site in that is told of by itself.
 */
extern const PlhFamilyAccount *plh_doubt_staying_cache(const PlhDoubted *doubted,
													   const PlhSiteRecord *site);

/* Is most of what was sampled in a cache the server's own? */
extern bool plh_doubt_staying_is_of_server(PlhCacheShares *shares, const PlhDoubted *doubted,
										   const PlhFamilyAccount *cache);

/* Say what stays in the session, and why that is no leak, if anything does. */
extern void plh_doubt_staying_say(PlhDoubt *doubt, const PlhDoubted *doubted);
