/*
 * dump_sites.h
 *	  Which sites of an image a dump has, and in which order.
 *
 * Sites of one stack follow each other, as jeprof and pprof tell sites apart by
 * their stacks only.  Where many sites hold nothing, and held nothing at the
 * peak and at the baseline, those that differ in the statement only are folded
 * into one without a statement.  Without memory for that, sites come in the
 * order of the image.  Callable inside palloc: takes private memory only.
 */
#ifndef PLH_DUMP_SITES_H
#define PLH_DUMP_SITES_H

#include "base/private_memory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"

/* So many sites that hold nothing are not folded. */
#define PLH_DUMP_EMPTY_SITES 1000

struct PlhDumpSiteKey;

typedef struct PlhDumpSites
{
	const PlhProfileImage *image;
	const PlhBaseline *baseline;	/* or NULL */
	PlhRegion	memory;
	struct PlhDumpSiteKey *keys;	/* in order; NULL: no memory */
	uint8	   *named;			/* a bit for each 8 bytes of the image */
	uint32		count;			/* of keys */
	uint32		next;			/* key, or position in the image */
	bool		folds;

	/* the site that others are being folded into */
	uint32		pending;		/* number of those so far */
	PlhSiteFacts pending_facts;
	PlhCounters pending_counters;

	uint32		folded;			/* sites that are gone by that, so far */
} PlhDumpSites;

extern void plh_dump_sites_open(PlhDumpSites *sites,
								const PlhProfileImage *image,
								const PlhBaseline *baseline);
extern void plh_dump_sites_close(PlhDumpSites *sites);

/* The facts are valid until the next call. */
extern bool plh_dump_sites_next(PlhDumpSites *sites, PlhSiteFacts *facts);
extern void plh_dump_sites_rewind(PlhDumpSites *sites);

/*
 * Returns the stack of a site: its offset in the image, 0 for none, or
 * PLH_FORMER_STACKS for those that were given up.
 */
extern uint32 plh_dump_sites_stack(const PlhSiteFacts *facts);

/* Returns whether a record is to be named: it was not, or nobody knows. */
extern bool plh_dump_sites_name(PlhDumpSites *sites, uint32 offset);

#endif							/* PLH_DUMP_SITES_H */
