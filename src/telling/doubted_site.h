/*
 * doubted_site.h
 *	  The site that holds most of a process without findings, and what is told of it.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/account.h"
#include "profile/profile_image.h"
#include "report/stack_text.h"
#include "telling/sentences.h"

/* Sites that hold something in contexts of the session, in others, or by malloc. */
typedef enum PlhDoubtedKind
{
	PLH_DOUBTED_IN_SESSION,
	PLH_DOUBTED_IN_STATEMENT,
	PLH_DOUBTED_BY_MALLOC
} PlhDoubtedKind;

/* The site that holds most of those of that kind; NULL: none of them holds anything. */
extern const PlhSiteRecord *plh_doubted_site_largest(const PlhProfileImage *image,
													 PlhDoubtedKind kind);

/* What samples say that statements and transactions hold now. */
extern int64 plh_doubted_site_passing(const PlhProfileImage *image);

/* What was counted of a family, in contexts of the session or in others; or NULL. */
extern const PlhFamilyAccount *plh_doubted_site_account(const PlhAccount *account,
														const PlhFamily *family, bool lasting);

/*
 * What a site holds, which is no more than was counted after its last sample: of its family or
 * lifetime, or of malloc.
 */
extern int64 plh_doubted_site_bytes(const PlhProfileImage *image, const PlhSiteRecord *site,
									const PlhAccount *account);

/*
 * Fill in what a site holds, and where it is.  "nameless" is set where it is NULL and the name of
 * the site is missing.
 */
extern void plh_doubted_site_fill(PlhFields *fields, const PlhProfileImage *image,
								  const PlhSiteRecord *site, const PlhAccount *account,
								  PlhStackTexts *stacks, const char **nameless);

/* Could what samples say that a site holds as well be nothing? */
extern bool plh_doubted_site_is_noise(const PlhSiteRecord *site);

/* Is what it holds too uncertain for a verdict? */
extern bool plh_doubted_site_is_uncertain(const PlhSiteRecord *site);
