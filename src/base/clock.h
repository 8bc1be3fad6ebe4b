/*
 * clock.h
 *	  The system's clocks in microseconds, and PostgreSQL's epoch.
 *
 * The coarse clocks are good to some milliseconds, and cheap enough for every allocation.  These
 * functions may be called from anywhere, inside palloc too.
 */
#pragma once

#include <time.h>

#include "datatype/timestamp.h"

/* Unix counts from 1970, PostgreSQL from 2000: the microseconds between. */
#define PLH_UNIX_EPOCH_US \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

static inline int64
plh_clock_us(clockid_t clock)
{
	struct timespec now;

	(void) clock_gettime(clock, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns the current time, to within a few milliseconds. */
static inline TimestampTz
plh_clock_coarse_now(void)
{
	return plh_clock_us(CLOCK_REALTIME_COARSE) - PLH_UNIX_EPOCH_US;
}

/* Returns the number of the present tick, of some 2 ms: no division is needed for that. */
static inline int64
plh_clock_coarse_tick(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64) now.tv_sec << 9 | now.tv_nsec >> 21;
}
