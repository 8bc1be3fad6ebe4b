/*
 * merged_sites.h
 *	  The sites of a merged profile, each of which several processes may share.
 *
 * Sites are the same if their keys and the owners of their processes are.  They are
 * numbered from 0 on, in the order in which they were added, which is that of their
 * records.  Never called inside palloc.
 */
#ifndef PLH_MERGED_SITES_H
#define PLH_MERGED_SITES_H

#include "reader/profile_builder.h"
#include "reader/site_owner.h"

/* What a site has beside its record. */
typedef struct PlhMergedSite
{
	uint32		offset;			/* of the record */
	const PlhSiteOwner *owner;
	int64		baseline_bytes;
	int64		baseline_count;
} PlhMergedSite;

typedef struct PlhMergedSites PlhMergedSites;

/* They belong to the current memory context. */
extern PlhMergedSites *plh_merged_sites_create(PlhProfileBuilder *profile);

/* The owner that is the same as this one, of those that came before it. */
extern const PlhSiteOwner *plh_merged_sites_owner(PlhMergedSites *sites,
												  const PlhSiteOwner *owner);

/*
 * The site with that key, whose record is added to the profile if it is new.  The
 * owner is one that plh_merged_sites_owner has returned; the result is valid until
 * the next call.
 */
extern PlhMergedSite *plh_merged_sites_find(PlhMergedSites *sites,
											const PlhSiteKey *key,
											const PlhSiteOwner *owner);

/* All of them, in an array. */
extern const PlhMergedSite *plh_merged_sites_all(const PlhMergedSites *sites,
												 uint32 *count);

#endif							/* PLH_MERGED_SITES_H */
