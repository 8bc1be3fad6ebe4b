/*
 * cache_shares.h
 *	  Whose code has filled one of PostgreSQL's caches: extensions allocate in them, too.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/account.h"
#include "report/stack_text.h"

/* Of what was sampled in the contexts of a family; estimates. */
typedef struct PlhCacheShares
{
	int64		bytes;			/* in all */
	int64		server_bytes;	/* by the server, for its caches */
	int64		statistics_bytes;	/* and of these statistics of columns */
} PlhCacheShares;

/* Is most of it statistics of columns? */
static inline bool
plh_cache_shares_are_statistics(const PlhCacheShares *shares)
{
	return shares->bytes > 0 && shares->statistics_bytes >= shares->bytes / 2;
}

/* All is 0 where no stacks are to be had. */
extern void plh_cache_shares_find(PlhCacheShares *shares, const PlhFamily *family,
								  const PlhProfileImage *image, PlhStackTexts *stacks);
