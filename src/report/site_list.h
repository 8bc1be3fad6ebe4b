/*
 * site_list.h
 *	  The call sites of a process, a dump or all processes together, with their stacks as text:
 *	  what pictures and files for other tools are made of.
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

extern PlhSiteList *plh_site_list_make(PlhSymbols *symbols, const PlhProfileImage *image,
									   const PlhBaseline *baseline,
									   TimestampTz at);
extern PlhSiteList *plh_site_list_make_merged(PlhSymbols *symbols, const PlhMergedProfiles *merged,
											  bool growth, TimestampTz at);
extern void plh_site_list_take_peak(PlhSiteList *list);
extern void plh_site_list_subtract(PlhSiteList *newer, const PlhSiteList *older);

/* The texts belong to the current memory context. */
extern const char *plh_site_list_title(const PlhSiteList *list);
extern const char *plh_site_list_interval(const PlhSiteList *list);
extern const char *plh_site_list_scope(const PlhSiteList *list);
