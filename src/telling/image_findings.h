/*
 * image_findings.h
 *	  The findings of an image, and what they are called.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/findings.h"
#include "report/listed_site.h"
#include "telling/suppression.h"

/*
 * Up to now, or to the end of its process; in the current memory context.  With symbols, call sites
 * of one cause are one finding; they may be NULL.
 */
extern PlhFindings *plh_image_findings_find(const PlhProfileImage *image, PlhSymbols *symbols);

/* The same up to then, with a baseline that may be NULL. */
extern PlhFindings *plh_image_findings_make(const PlhProfileImage *image,
											const PlhBaseline *baseline,
											TimestampTz counted_to, PlhSymbols *symbols);

/* What comes of a finding that has a site, when that is described. */
typedef enum PlhShown
{
	PLH_SHOWN,
	PLH_SUPPRESSED,				/* a pattern matches it */
	PLH_KNOWN_CACHE				/* one of the server's own, which fills up */
} PlhShown;

extern PlhShown plh_image_findings_describe(const PlhFinding *finding, const PlhProfileImage *image,
											PlhStackTexts *texts,
											const PlhSuppressions *suppressions,
											PlhListedSite *listed);

/*
 * The name of the contexts that it is about, or those of "named", the site that the finding is
 * named after; NULL for other findings.
 */
extern const char *plh_image_findings_contexts(const PlhFinding *finding,
											   const PlhListedSite *named,
											   const PlhProfileImage *image);
