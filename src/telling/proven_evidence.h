/*
 * proven_evidence.h
 *	  What a proof says of memory: what of it nothing points to, and who holds the rest.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "telling/sentences.h"

/* What was proven of what the finding is about; NULL: nothing. */
extern const PlhProven *plh_proven_evidence_of(const PlhFinding *finding);

/* Who holds most of what can be reached, in the session's encoding; NULL: not known. */
extern const char *plh_proven_evidence_holder(const PlhFinding *finding);

/* The way from there; NULL: not known. */
extern const char *plh_proven_evidence_path(const PlhFinding *finding);

extern void plh_proven_evidence_say(PlhSaid *said, const PlhFinding *finding, bool alive);

/* How many of the contexts are lost that the finding is about.  Returns whether all are. */
extern bool plh_proven_evidence_say_contexts(PlhSaid *said, const PlhFinding *finding,
											 const PlhProfileImage *image);
