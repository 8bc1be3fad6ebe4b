/*
 * clock.h
 *	  Time by the system's clocks, in microseconds, and PostgreSQL's epoch.
 *
 * The coarse clocks are good to some milliseconds, and cheap enough for every
 * allocation.  Callable from anywhere, inside palloc too.
 */
#ifndef PLH_CLOCK_H
#define PLH_CLOCK_H

#include <time.h>

#include "datatype/timestamp.h"

/* Microseconds from 1970, where Unix begins to count, to 2000. */
#define PLH_UNIX_EPOCH_US \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

static inline int64
plh_clock_us(clockid_t clock)
{
	struct timespec now;

	(void) clock_gettime(clock, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Now, to a few milliseconds. */
static inline TimestampTz
plh_clock_coarse_now(void)
{
	return plh_clock_us(CLOCK_REALTIME_COARSE) - PLH_UNIX_EPOCH_US;
}

#endif							/* PLH_CLOCK_H */
