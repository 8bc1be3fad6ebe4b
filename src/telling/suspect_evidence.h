/*
 * suspect_evidence.h
 *	  Why a site or a process is a suspect, in a few sentences.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_EVIDENCE_H
#define PLH_SUSPECT_EVIDENCE_H

#include "judge/suspect_list.h"
#include "report/listed_site.h"

/* "texts" names the sites of a statement; NULL: these are not told. */
extern char *plh_suspect_evidence(const PlhSuspect *suspect,
								  const PlhSuspectList *list,
								  const PlhProfileImage *image,
								  PlhStackTexts *texts);

#endif							/* PLH_SUSPECT_EVIDENCE_H */
