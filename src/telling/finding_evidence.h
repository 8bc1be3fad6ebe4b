/*
 * finding_evidence.h
 *	  Why something is a finding, in a few sentences.
 *
 * Never called inside palloc.
 */
#ifndef PLH_FINDING_EVIDENCE_H
#define PLH_FINDING_EVIDENCE_H

#include "telling/found_in.h"

extern void plh_finding_evidence_say(StringInfo text, const PlhFinding *finding,
									 const PlhFoundIn *in);

#endif							/* PLH_FINDING_EVIDENCE_H */
