/*
 * contexts_evidence.h
 *	  Why memory contexts are a finding: how many they are, what of, and what bounds them.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "telling/finding_origin.h"
#include "telling/sentences.h"

/*
 * What memory contexts of a name are of; the record may be NULL.  Returns false where there is
 * nothing to say.
 */
extern bool plh_contexts_evidence_say_examples(PlhSaid *said, const PlhContextRecord *record,
											   const PlhProfileImage *image);

/* What the phase was for.  Returns false where its contexts tell more. */
extern bool plh_contexts_evidence_say_phase(PlhSaid *said, const PlhFindingOrigin *origin);

/* Contexts of a name or kind. */
extern void plh_contexts_evidence_say(PlhSaid *said, const PlhFinding *finding,
									  const PlhProfileImage *image, const PlhFindingOrigin *origin);

/* Contexts that are a cache, which may have come to rest. */
extern void plh_contexts_evidence_say_cache(PlhSaid *said, const PlhFinding *finding,
											const PlhProfileImage *image,
											const PlhFindingOrigin *origin);
