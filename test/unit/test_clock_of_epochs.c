/*
 * test_clock_of_epochs.c
 *	  The epochs of a long transaction, by clocks that the test sets.
 */
#include "postgres.h"

#include "base/clock.h"

static int64 monotonic_us(clockid_t clock);
static TimestampTz wall_time(void);

#define plh_clock_us monotonic_us
#define plh_clock_coarse_now wall_time
#include "profile/profile_counters.c"
#undef plh_clock_coarse_now
#undef plh_clock_us

#include "profile/profile.h"
#include "unit_tests.h"

static int64 clock_us = USECS_PER_SEC;
static TimestampTz wall = 10 * USECS_PER_HOUR;

static int64
monotonic_us(clockid_t clock)
{
	return clock_us;
}

static TimestampTz
wall_time(void)
{
	return wall;
}

/* The epoch in which a sample is taken so much later. */
static uint32
epoch_after(int64 us)
{
	PlhDraw		exact = {.interval_bytes = 1};

	clock_us += us;
	wall += us;
	plh_profile_counters_add(plh_profile->catch_all_site, 10, exact);
	return plh_profile->epoch;
}

void
test_clock_of_epochs(void)
{
	uint32		first;

	plh_guard_held = true;
	ok(plh_profile_begin(), "a profile for the epochs");
	first = epoch_after(0);
	ok(epoch_after(USECS_PER_SEC / 2) == first, "half a second is no epoch");
	ok(epoch_after(USECS_PER_SEC) == first + 1, "a second is one");
	wall -= USECS_PER_HOUR;
	ok(epoch_after(USECS_PER_SEC) == first + 2, "also when the clock is set back");
	wall += USECS_PER_HOUR;
	ok(epoch_after(USECS_PER_SEC / 2) == first + 2,
	   "and not less when it is set forward");
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_guard_held = false;
}
