/*
 * finding_evidence.h
 *	  Why something is a finding, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/finding_origin.h"
#include "telling/found_in.h"
#include "telling/sentences.h"

/* "origin" is where it came from. */
extern void plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding,
									 const PlhFoundIn *in, const PlhFindingOrigin *origin);
