/*
 * suspect_list.h
 *	  The suspects of one process.  Its sites are judged one by one; sites that
 *	  differ only in their statement are also judged together.  What no site
 *	  shows, the process is judged for as a whole.
 *
 * Nothing is described or symbolized here: that is worth while for the few
 * sites that are suspects, once suppressed ones are left out.  All sites of a
 * suspect have the same stack and context, and so the same suppressions.
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_LIST_H
#define PLH_SUSPECT_LIST_H

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "verdict/suspect.h"

typedef struct PlhSuspect
{
	const PlhSiteRecord *site;	/* of several, that which holds most; of
								 * contexts, one in them; or NULL */
	const PlhContextRecord *context;	/* NULL unless contexts are suspect */
	PlhSuspectFacts facts;		/* of all sites together, or of the process */
	PlhJudgement judgement;		/* never PLH_VERDICT_NONE */
} PlhSuspect;

typedef struct PlhSuspectList
{
	int			count;
	PlhSuspect *suspects;		/* the worst first */
} PlhSuspectList;

extern PlhSuspectList *plh_suspect_list_make(const PlhProfileImage *image,
											 const PlhBaseline *baseline,
											 TimestampTz counted_to);

#endif							/* PLH_SUSPECT_LIST_H */
