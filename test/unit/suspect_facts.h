/*
 * suspect_facts.h
 *	  What may be known of a site, for tests of verdicts, and what it comes to.
 */
#ifndef SUSPECT_FACTS_H
#define SUSPECT_FACTS_H

#include "datatype/timestamp.h"
#include "judge/suspect.h"

#define MB INT64CONST(1000000)
#define SOME_TIME (INT64CONST(1000) * USECS_PER_DAY)

/*
 * A megabyte and a sample in each other epoch, none of it freed: half of it in
 * the first half of its life.
 */
extern PlhSuspectFacts steady_leak(void);

/* All of it since the baseline, in a few epochs, an hour ago. */
extern PlhSuspectFacts fresh_growth(void);

/* Do facts come to that verdict? */
extern bool is_judged(PlhSuspectFacts facts, PlhVerdict verdict);

#endif							/* SUSPECT_FACTS_H */
