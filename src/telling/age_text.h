/*
 * age_text.h
 *	  How old is what a call site holds, in a sentence.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "judge/finding.h"

/* Says nothing of what is no single call site, or has too few samples. */
extern void plh_age_text_say(StringInfo text, const PlhFinding *finding,
							 const PlhProfileImage *image, TimestampTz now);
