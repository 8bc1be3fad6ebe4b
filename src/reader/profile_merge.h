/*
 * profile_merge.h
 *	  Merges the profiles of several processes into one image, in which a call site that they
 *	  share is one.
 *
 * All outputs of a profile are thereby outputs of all processes together.  A merge belongs to the
 * memory context in which it was begun, and refers to none of the images that were added.  Never
 * called inside palloc.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/site_owner.h"

/* What a site has beside its record. */
typedef struct PlhMergedSite
{
	uint32		offset;			/* of the record */
	const PlhSiteOwner *owner;
	int64		baseline_bytes;
	int64		baseline_count;
} PlhMergedSite;

/* All that was merged. */
typedef struct PlhMergedProfiles
{
	PlhProfileImage *image;		/* has the sums */
	PlhBaseline *baseline;		/* has the sums of the baselines */
	const PlhMergedSite *sites; /* in the order of the image */
	int			process_count;
	int			crashed_count;	/* of these */
	uint32		least_interval; /* of those that sample; 0: none does */
	uint32		most_interval;
	bool		scopes_differ;
} PlhMergedProfiles;

typedef struct PlhProfileMerge PlhProfileMerge;

/*
 * Statements that differ only in their text are told apart if "with_queries"; else only those that
 * have ids are told apart, and have no text.  Sites of processes that differ in one of the parts
 * PLH_OWNER_* are told apart.
 */
extern PlhProfileMerge *plh_profile_merge_begin(bool with_queries, int owner_parts);

/* "baseline" may be NULL. */
extern void plh_profile_merge_add(PlhProfileMerge *merge, const PlhProfileImage *image,
								  const PlhBaseline *baseline);

/* Nothing can be added any more. */
extern const PlhMergedProfiles *plh_profile_merge_end(PlhProfileMerge *merge);
