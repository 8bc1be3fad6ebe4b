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

void
pass_time(int64 us)
{
	clock_us += us;
	wall += us;
}

TimestampTz
wall_clock(void)
{
	return wall;
}

void
set_wall_clock(int64 change_us)
{
	wall += change_us;
}

/* The epoch in which a sample is taken so much later. */
static uint32
epoch_after(int64 us)
{
	PlhDraw		exact = {.interval_bytes = 1};

	pass_time(us);
	plh_profile_counters_add(plh_profile->catch_all_site, 10, 0, exact);
	return plh_profile->epoch;
}

/*
 * A site gets a checkpoint after another one has lost its last sample, and its record.
 * The test fails where assertions are on, if that record is taken for a site.
 */
static void
test_site_given_up(void)
{
	PlhSiteKey	key = {0};
	PlhDraw		exact = {.interval_bytes = 1};
	const PlhSiteRecord *site = site_at(plh_profile->catch_all_site);
	const PlhCheckpoint *last = &site->checkpoints[PLH_CHECKPOINTS - 1];
	uint32		other;

	key.context_name = plh_profile_string("given up", PLH_CONTEXT_NAME_MAX);
	other = plh_profile_site(&key);
	plh_profile_counters_subtract(other, 10, exact,
								  plh_profile_counters_add(other, 10, 0, exact));
	site_at(other)->record.kind = PLH_RECORD_FREE;
	plh_profile->epoch += 100;
	(void) epoch_after(0);
	ok(last->epochs >= 100 && last->live_samples == site->counters.live_samples - 1,
	   "a checkpoint does not count what another site has freed");
}

void
test_clock_of_epochs(void)
{
	uint32		first;

	plh_guard_held = true;
	ok(plh_profile_begin(), "a profile for the epochs begins");
	first = epoch_after(0);
	ok(epoch_after(USECS_PER_SEC / 2) == first, "half a second is no epoch");
	ok(epoch_after(USECS_PER_SEC) == first + 1, "a second is an epoch");
	wall -= USECS_PER_HOUR;
	ok(epoch_after(USECS_PER_SEC) == first + 2, "a second is an epoch when the clock is set back");
	wall += USECS_PER_HOUR;
	ok(epoch_after(USECS_PER_SEC / 2) == first + 2,
	   "half a second is no epoch when the clock is set forward");
	test_site_given_up();
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_guard_held = false;
}
