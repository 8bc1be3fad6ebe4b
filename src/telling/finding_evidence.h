/*
 * finding_evidence.h
 *	  Why something is a finding, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/found_in.h"

extern void plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding,
									 const PlhFoundIn *in);
