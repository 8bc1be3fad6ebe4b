/*
 * clock.c
 *	  Clocks that run at the pace of a program under Valgrind, to be preloaded.
 *
 * A server does some things by the clock, which else would be PACE times as many for
 * each statement as they are without Valgrind.  The coarse clocks tick as they do.  A
 * clock should take hardly more instructions than the kernel's does, some thirty, as
 * they are counted: so PACE and the tick are powers of 2.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define BEFORE_MAIN __attribute__((constructor))
#define CLOCKS 8				/* up to CLOCK_BOOTTIME */
#define TICK_NS (INT64_C(1) << 22)
#define SECOND_NS INT64_C(1000000000)

static int (*next_gettime) (clockid_t, struct timespec *);

/*
 * What the clocks said when the program started.  Processes that it forks go on from
 * there; a clock of the processor's time starts with each of them.
 */
static int64_t start_ns[CLOCKS];

static int64_t
real_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	next_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static BEFORE_MAIN void
start_clocks(void)
{
	next_gettime = (int (*) (clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	for (clockid_t clock = 0; clock < CLOCKS; clock++)
		if (clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID)
			start_ns[clock] = real_ns(clock);
}

static int64_t
paced_ns(clockid_t clock)
{
	int64_t		ns = start_ns[clock] + (real_ns(clock) - start_ns[clock]) / PACE;

	if (clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE)
		ns &= -TICK_NS;
	return ns;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t		ns;

	if (clock < 0 || clock >= CLOCKS)
		return next_gettime(clock, now);
	ns = paced_ns(clock);
	now->tv_sec = ns / SECOND_NS;
	now->tv_nsec = ns % SECOND_NS;
	return 0;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int64_t		us = paced_ns(CLOCK_REALTIME) / 1000;

	(void) zone;
	now->tv_sec = us / 1000000;
	now->tv_usec = us % 1000000;
	return 0;
}
