/*
 * test_census.c
 *	  How often a process takes a census: by clocks that the test sets.
 */
#include "postgres.h"

#include <time.h>

static int	census_clock(clockid_t clock, struct timespec *now);

#define clock_gettime census_clock
#include "sampler/census.c"
#undef clock_gettime

#include "server.h"
#include "unit_tests.h"

static uint64 wall_us = 1000000;
static uint64 cpu_us;

/* What one look at the processor's time adds to it, so that a census takes as much. */
static uint64 census_us;

static int
census_clock(clockid_t clock, struct timespec *now)
{
	uint64		us = wall_us;

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		us = cpu_us += census_us;
	now->tv_sec = us / 1000000;
	now->tv_nsec = us % 1000000 * 1000;
	return 0;
}

/* Is a census taken so much later, where it would take so long? */
static bool
is_taken_after(uint64 later_us, uint64 takes_us)
{
	wall_us += later_us;
	census_us = takes_us;
	return plh_census_take_if_older(10000);
}

void
test_census(void)
{
	static MemoryContextData top,
				child;
	int64		bytes;

	top.type = child.type = T_AllocSetContext;
	top.name = "TopMemoryContext";
	top.mem_allocated = 8192;
	top.firstchild = &child;
	child.name = "child";
	child.parent = &top;
	child.mem_allocated = 1024;
	TopMemoryContext = &top;
	ok(plh_profile_begin(), "a profile for the census");

	ok(is_taken_after(0, 20), "the first census is taken at once");
	bytes = plh_profile->context_bytes;
	ok(bytes == 9216 && plh_profile->context_count == 2,
	   "it counts the contexts");
	ok(!is_taken_after(9000, 20) && is_taken_after(2000, 20),
	   "the next when the last is old enough");
	ok(is_taken_after(30000, 5000) && is_taken_after(30000, 20),
	   "one that was interrupted does not put off the next");
	ok(is_taken_after(30000, 5000) && is_taken_after(30000, 5000) &&
	   !is_taken_after(4900000, 5000) && is_taken_after(200000, 5000),
	   "where each takes long they take a thousandth of the time");
	plh_census_forget();
	ok(is_taken_after(0, 5000), "a forked child starts anew");
	plh_profile_forget();
}
