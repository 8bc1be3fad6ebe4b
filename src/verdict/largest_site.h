/*
 * largest_site.h
 *	  The call site of a process that holds most, of one kind, and what is counted of it.
 *
 * For processes without a verdict.  Never called inside palloc.
 */
#ifndef PLH_LARGEST_SITE_H
#define PLH_LARGEST_SITE_H

#include "profile/profile_image.h"
#include "report/stack_text.h"
#include "verdict/account.h"

/* Those that hold something in contexts of the session, in others, or by malloc. */
typedef enum PlhSiteKind
{
	PLH_SITES_OF_SESSION,
	PLH_SITES_OF_STATEMENT,
	PLH_SITES_OF_MALLOC
} PlhSiteKind;

/* NULL: none of them holds anything. */
extern const PlhSiteRecord *plh_largest_site_find(const PlhProfileImage *image,
												  PlhSiteKind kind);

/* The family of its contexts, and what was counted of that; NULL: not known. */
extern const PlhFamily *plh_largest_site_family(const PlhProfileImage *image,
												const PlhSiteRecord *site);
extern const PlhFamilyAccount *plh_largest_site_account(const PlhAccount *account,
														const PlhFamily *family,
														bool lasting);

/*
 * "64 MB (+/- 12 MB) at leaking_top (leaker.c:55) in TopMemoryContext".  "nameless" is
 * set where it is NULL and the name of the site is missing.
 */
extern const char *plh_largest_site_text(const PlhProfileImage *image,
										 const PlhSiteRecord *site,
										 const PlhAccount *account,
										 PlhStackTexts *stacks,
										 const char **nameless);

#endif							/* PLH_LARGEST_SITE_H */
