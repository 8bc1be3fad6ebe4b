/*
 * doubt_growth.h
 *	  Whether a process without findings grows, why that is harmless, or what it may become.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/*
 * Has it grown of late?  The caches that each session fills are no reason to look closer, unless it
 * goes on.
 */
extern bool plh_doubt_growth_is_seen(const PlhCourse *course);

/*
 * What stays in the session, and what to do if that keeps growing.  What was never counted is not
 * said to be nothing.
 */
extern void plh_doubt_growth_say(PlhDoubt *doubt, const PlhDoubted *doubted);
