/*
 * advised.h
 *	  What advice on a finding depends on, and what several kinds of it share.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "telling/finding_origin.h"
#include "telling/sentences.h"

typedef struct PlhAdvised
{
	PlhSaid    *said;
	const PlhFinding *finding;
	const PlhProfileImage *image;
	const PlhListedSite *named; /* the site it is named after; NULL: none */
	const PlhFindingOrigin *origin; /* of all its sites */
	PlhBlamedCode code;			/* the extension or language nearest to the
								 * named one */
	const PlhFamily *family;	/* what is known of the code that allocates,
								 * if it is the server's; else NULL */
} PlhAdvised;

/* What helps against contexts of a family, whatever allocates in them. */
static inline void
plh_advised_say_help(const PlhAdvised *advised, const PlhFamily *family)
{
	PLH_SAY(advised->said, true, help,.help = family->help);
}

/* Where functions of a language keep values beyond a call. */
static inline const char *
plh_advised_store(const char *language)
{
	if (strcmp(language, "PL/Perl") == 0)
		return "%_SHARED and global variables";
	return strcmp(language, "PL/Python") == 0 ? "GD, SD and global variables" :
		"GD and global variables";
}

/* How many contexts there were, at the last count, whose names begin so. */
extern int64 plh_advised_contexts(const PlhProfileImage *image, const char *name);
