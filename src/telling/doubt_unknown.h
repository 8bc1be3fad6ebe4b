/*
 * doubt_unknown.h
 *	  What is not known of a process: it has no profile or shows none, is not sampled, or has
 *	  changed since it was counted.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/*
 * Is something unknown that a finding could be about, as it always is of a process without a
 * profile?  Then that is told.
 */
extern bool plh_doubt_unknown_find(PlhDoubt *doubt, const PlhDoubted *doubted);
