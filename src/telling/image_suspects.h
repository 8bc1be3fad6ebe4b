/*
 * image_suspects.h
 *	  The suspects of an image, and what they are called.
 *
 * Never called inside palloc.
 */
#ifndef PLH_IMAGE_SUSPECTS_H
#define PLH_IMAGE_SUSPECTS_H

#include "judge/suspect_list.h"
#include "report/listed_site.h"
#include "telling/suppression.h"

/* Up to now, or to the end of its process; in the current memory context. */
extern PlhSuspectList *plh_image_suspects_find(const PlhProfileImage *image);

/* What comes of a suspect that has a site, when that is described. */
typedef enum PlhShown
{
	PLH_SHOWN,
	PLH_SUPPRESSED,				/* a pattern matches it */
	PLH_KNOWN_CACHE				/* one of the server's own, which fills up */
} PlhShown;

extern PlhShown plh_image_suspects_describe(const PlhSuspect *suspect,
											const PlhProfileImage *image,
											PlhStackTexts *texts,
											const PlhSuppressions *suppressions,
											PlhListedSite *listed);

/*
 * The name of the contexts that are suspect, or those of "named", the site that the suspect
 * is named after; NULL for other suspects.
 */
extern const char *plh_image_suspects_contexts(const PlhSuspect *suspect,
											   const PlhListedSite *named,
											   const PlhProfileImage *image);

#endif							/* PLH_IMAGE_SUSPECTS_H */
