/*
 * suspect_evidence.h
 *	  Why a site or a process is a suspect, and what to do next, in a few
 *	  sentences.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_EVIDENCE_H
#define PLH_SUSPECT_EVIDENCE_H

#include "profile/profile_image.h"
#include "verdict/suspect.h"

extern char *plh_suspect_evidence(const PlhSuspectFacts *facts,
								  const PlhJudgement *judgement,
								  const PlhProfileImage *image);
extern const char *plh_suspect_evidence_next(const PlhSuspectFacts *facts,
											 const PlhJudgement *judgement,
											 const PlhProfileImage *image);
extern const char *plh_suspect_evidence_malloc_hint(const PlhProfileHeader *header);

#endif							/* PLH_SUSPECT_EVIDENCE_H */
