/*
 * doubt_unknown.h
 *	  What is not known of a process: it has no profile or shows none, is not sampled, or has
 *	  changed since it was counted.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* Why nothing is known of a process without a profile. */
extern void plh_doubt_unknown_say(PlhDoubt *doubt, const PlhDoubted *doubted);

/* Is something unknown that a finding could be about?  Then that is told. */
extern bool plh_doubt_unknown_find(PlhDoubt *doubt, const PlhDoubted *doubted);
