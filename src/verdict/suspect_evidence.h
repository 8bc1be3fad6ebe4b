/*
 * suspect_evidence.h
 *	  Why a site is a suspect, as a sentence.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_EVIDENCE_H
#define PLH_SUSPECT_EVIDENCE_H

#include "verdict/suspect.h"

extern char *plh_suspect_evidence(const PlhSuspectFacts *facts,
								  const PlhJudgement *judgement);

#endif							/* PLH_SUSPECT_EVIDENCE_H */
