/*
 * proven.h
 *	  What a proof tells of call sites: how much of what they hold nothing points to, and who has
 *	  the rest.
 *
 * A proof is of its moment.  What a site has allocated since is not proven.  What was lost stays
 * so: nobody has its address any more.  It goes only with its context, which its samples show.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the server.
 */
#pragma once

#include "datatype/timestamp.h"

#include "profile/profile_image.h"

/*
 * Of one site, or of several that are added up.  Bytes of sites are as asked for; those of malloc's
 * blocks without a site, as they take them.
 */
typedef struct PlhProven
{
	TimestampTz at;				/* when it was true; 0: nothing is proven */
	int64		lost_bytes;		/* to which nothing points */
	int64		resettable_bytes;	/* of these, with a context that somebody
									 * can still reset */
	int64		lost_samples;
	double		lost_variance;	/* of lost_bytes, in bytes squared */
	int64		held_bytes;		/* that can be reached */
	int64		holder_bytes;	/* of these, from the holder, or more */
	const char *holder;			/* texts of the proof; NULL: not known */
	const char *path;			/* from the holder to a chunk */
} PlhProven;

extern void plh_proven_collect(PlhProven *proven, const PlhProfileImage *image,
							   const PlhSiteRecord *site);

/* What it tells of all blocks of malloc outside of contexts, in bytes as they take them. */
extern void plh_proven_collect_malloc(PlhProven *proven, const PlhProfileImage *image);

/* How many memory contexts of a name are lost as a whole. */
typedef struct PlhProvenContexts
{
	int64		lost;			/* 0: none, or nothing was proven */
	TimestampTz at;
} PlhProvenContexts;

extern PlhProvenContexts plh_proven_contexts(const PlhProfileImage *image, const char *name);

/* Add what was proven of a site to a sum, which begins as zeros. */
extern void plh_proven_pool(PlhProven *sum, const PlhProven *site);

/* What was taken for "bytes" is no more than "most": so its parts are smaller, too. */
extern void plh_proven_bound(PlhProven *proven, int64 bytes, int64 most);

/* What is lost, and is not freed with a context either. */
static inline int64
plh_proven_lost_for_good(const PlhProven *proven)
{
	return proven->lost_bytes - proven->resettable_bytes;
}
