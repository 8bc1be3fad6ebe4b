/*
 * largest_site.h
 *	  The call site of a process that holds most, of one kind, and what is counted of it.
 *
 * For processes without a verdict.  Never called inside palloc.
 */
#pragma once

#include "judge/account.h"
#include "profile/profile_image.h"

/* Those that hold something in contexts of the session, in others, or by malloc. */
typedef enum PlhSiteKind
{
	PLH_SITES_OF_SESSION,
	PLH_SITES_OF_STATEMENT,
	PLH_SITES_OF_MALLOC
} PlhSiteKind;

/* NULL: none of them holds anything. */
extern const PlhSiteRecord *plh_largest_site_find(const PlhProfileImage *image, PlhSiteKind kind);

/* The family of its contexts, and what was counted of that; NULL: not known. */
extern const PlhFamily *plh_largest_site_family(const PlhProfileImage *image,
												const PlhSiteRecord *site);
extern const PlhFamilyAccount *plh_largest_site_account(const PlhAccount *account,
														const PlhFamily *family,
														bool lasting);

/* What it holds, which is no more than was counted after its last sample. */
extern int64 plh_largest_site_bytes(const PlhProfileImage *image, const PlhSiteRecord *site,
									const PlhAccount *account);
