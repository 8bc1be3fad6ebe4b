/*
 * age_text.h
 *	  How old is what a call site holds, in a sentence.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "telling/sentences.h"

/* Says nothing of what is no single call site, or has too few samples. */
extern void plh_age_text_say(PlhSaid *said, const PlhFinding *finding,
							 const PlhProfileImage *image, TimestampTz now);
