/*
 * proven_suspect.h
 *	  What a proof makes of the verdict that figures suggest.
 *
 * Growth is a symptom, and a pointer a fact.  What is lost is a leak at once, whatever its course.
 * What grows as a leak does, and can be reached, may be a cache that fills, and is no leak before
 * it is large.
 *
 * Pure functions, as in suspect.h, which has the thresholds.
 */
#pragma once

#include "judge/suspect.h"

/* Is so much lost that it is a leak?  What is freed with its context is not. */
extern bool plh_proven_suspect_is_lost(const PlhSuspectFacts *facts);

/* Can so much of what grows, and has that size now, be reached that it may have an end? */
extern bool plh_proven_suspect_is_reached(const PlhProven *proven, int64 bytes);

/* Is a part of that size proven, which was proven when it was not very much smaller? */
extern bool plh_proven_suspect_is_proven(const PlhProven *proven, int64 bytes);

/* Would it be worth a proof, as it may become a suspect, or has become much larger than proven? */
extern bool plh_proven_suspect_is_begun(const PlhSuspectFacts *facts);

extern PlhJudgement plh_proven_suspect_judge(const PlhSuspectFacts *facts);
