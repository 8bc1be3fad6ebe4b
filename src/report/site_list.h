/*
 * site_list.h
 *	  The call sites of a process, a dump or all processes together, with their stacks as text.
 *
 * A list belongs to the memory context in which it was made, and refers to the images that it was
 * made of.  Never called inside palloc.
 */
#pragma once

#include "reader/profile_merge.h"
#include "report/listed_site.h"

typedef struct PlhSiteList
{
	const PlhProfileImage *image;	/* the newer one, if there are two */
	const PlhMergedProfiles *merged;	/* that the image is of; NULL: it is
										 * of one process */
	bool		growth;			/* what counts is the growth */
	bool		peak;			/* what counts is what was held at the peak of
								 * the process; numbers of chunks are 0, as
								 * they are not known */
	TimestampTz at;				/* when the figures were true */
	TimestampTz since;			/* growth is from then on; 0: not growth, or
								 * not known */
	int			count;
	PlhListedSite *sites;
} PlhSiteList;

/*
 * All sites of an image that ever had a sample, as they were at the time "at", or when the process
 * crashed.  With a baseline the list is of the growth since.
 */
extern PlhSiteList *plh_site_list_make(PlhSymbols *symbols, const PlhProfileImage *image,
									   const PlhBaseline *baseline,
									   TimestampTz at);

/* Of all processes together; with "growth", of what each has gained since its own baseline. */
extern PlhSiteList *plh_site_list_make_merged(PlhSymbols *symbols, const PlhMergedProfiles *merged,
											  bool growth, TimestampTz at);

/* Let a list show what each site held when the process held most. */
extern void plh_site_list_take_peak(PlhSiteList *list);

/*
 * Make the newer list one of growth since the older, which may be of another process.  A site that
 * is only in the older list becomes one of the newer.
 */
extern void plh_site_list_subtract(PlhSiteList *newer, const PlhSiteList *older);

/* What stands for the stack of a site that no routine allocates at. */
#define PLH_NO_ROUTINE_NAME "[no routine]"

/* Leave all frames in C out of the stacks. */
extern void plh_site_list_keep_routines(PlhSiteList *list);

/*
 * The process or the number of processes, the sampling interval, and the contexts that were
 * sampled.  The texts belong to the current memory context.
 */
extern const char *plh_site_list_title(const PlhSiteList *list);
extern const char *plh_site_list_interval(const PlhSiteList *list);
extern const char *plh_site_list_scope(const PlhSiteList *list);
