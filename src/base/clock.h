/*
 * clock.h
 *	  Time by the system's clocks, in microseconds.
 *
 * The coarse clocks are good to some milliseconds, and cheap enough for every
 * allocation.
 */
#ifndef PLH_CLOCK_H
#define PLH_CLOCK_H

#include <time.h>

static inline int64
plh_clock_us(clockid_t clock)
{
	struct timespec now;

	(void) clock_gettime(clock, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif							/* PLH_CLOCK_H */
