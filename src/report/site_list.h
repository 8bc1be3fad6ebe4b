/*
 * site_list.h
 *	  The call sites of a process or a dump, with their stacks as text: what
 *	  pictures and files for other tools are made of.
 *
 * A list belongs to the memory context in which it was made, and refers to the
 * images that it was made of.  Never called inside palloc.
 */
#ifndef PLH_SITE_LIST_H
#define PLH_SITE_LIST_H

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "report/stack_text.h"

typedef struct PlhListedSite
{
	const PlhProfileImage *image;	/* that has the site */
	const PlhSiteRecord *site;
	const char *context_name;	/* NULL for the catch-all site */
	const char *lifetime;		/* likewise */
	int64		query_id;		/* 0 where there is none */
	const char *query;			/* NULL where none was running */
	PlhStackText stack;			/* at least one frame */
	bool		has_stack;		/* else that frame says why not */
	int64		bytes;			/* live */
	int64		count;
	int64		old_bytes;		/* what growth is counted from; else 0 */
	int64		old_count;
} PlhListedSite;

typedef struct PlhSiteList
{
	const PlhProfileImage *image;	/* the newer one, if there are two */
	bool		growth;			/* what counts is the growth */
	TimestampTz at;				/* when the figures were true */
	int			count;
	PlhListedSite *sites;
} PlhSiteList;

extern PlhSiteList *plh_site_list_make(PlhSymbols *symbols,
									   const PlhProfileImage *image,
									   TimestampTz at);
extern void plh_site_list_subtract_baseline(PlhSiteList *list,
											const PlhBaseline *baseline);
extern void plh_site_list_subtract(PlhSiteList *newer,
								   const PlhSiteList *older);

/* What counts: what is live, or the growth of it. */
static inline int64
plh_listed_bytes(const PlhListedSite *site)
{
	return site->bytes - site->old_bytes;
}

static inline int64
plh_listed_count(const PlhListedSite *site)
{
	return site->count - site->old_count;
}

#endif							/* PLH_SITE_LIST_H */
