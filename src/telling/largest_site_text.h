/*
 * largest_site_text.h
 *	  What the call site holds that holds most, and where it is, in words.
 *
 * Never called inside palloc.
 */
#ifndef PLH_LARGEST_SITE_TEXT_H
#define PLH_LARGEST_SITE_TEXT_H

#include "judge/largest_site.h"
#include "report/stack_text.h"

/*
 * "64 MB (+/- 12 MB) at leaking_top (leaker.c:55) in TopMemoryContext".  "nameless" is
 * set where it is NULL and the name of the site is missing.
 */
extern const char *plh_largest_site_text(const PlhProfileImage *image,
										 const PlhSiteRecord *site,
										 const PlhAccount *account,
										 PlhStackTexts *stacks,
										 const char **nameless);

#endif							/* PLH_LARGEST_SITE_TEXT_H */
