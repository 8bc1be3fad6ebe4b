/*
 * countdown.c
 *	  Decides which allocations are samples, by counting bytes down.
 *
 * This code runs inside palloc and malloc.
 */
#include "postgres.h"

#include <errno.h>
#include <time.h>

#include "miscadmin.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_counters.h"
#include "sampler/control.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"

/*
 * What a process of the server allocates first fills its caches.  So many bytes
 * go without samples at such intervals, as the first unwinding costs 100 us,
 * because libunwind knows none of the frames yet: a short connection would pay
 * that for a sample or two.  Within the first milliseconds of processor time it is
 * several times as much: a connection that is over by then has run a few statements.
 * On a busy machine these milliseconds take longer, but not for an idle session.
 */
#define START_BYTES (2 * 1024 * 1024)
#define START_INTERVAL (256 * 1024)
#define START_STRETCHES 4
#define START_CPU_US 20000
#define START_US 200000

/* Those in use; NULL where nothing is counted. */
static PlhCountdown *countdowns[PLH_COUNTED];

/* The current interval, for which gaps are drawn (0: off), and scope. */
static uint32 armed_interval;
int			plh_countdown_scope;

/* May memory be sampled at a longer interval?  Not if somebody asked for this one. */
static bool may_be_coarse;

/* Sample every allocation, whatever settings and requests say. */
static bool all_tracked;

/* Look at settings and requests before a countdown is used. */
static bool rearm_wanted = true;

/* The process has just been forked, at that time by the coarse monotonic clock. */
static bool just_forked;
static int64 forked_at_us;

static pg_prng_state prng;
static bool prng_seeded;

/* Seed the random numbers as no other process does. */
static PLH_EVERY_PROCESS void
seed_prng(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	pg_prng_seed(&prng, ((uint64) MyProcPid << 32) ^
				 ((uint64) now.tv_sec << 30) ^ (uint64) now.tv_nsec);
	prng_seeded = true;
}

/* Let the next allocation draw a new gap. */
static void
make_stale(PlhCountdown *countdown)
{
	*countdown->left = 0;
	countdown->gap_left = 0;
	countdown->takes_each = false;
	countdown->is_stale = true;
}

/* Take over the current settings and requests. */
static PLH_EVERY_PROCESS void
rearm(void)
{
	int			saved_errno = errno;
	PlhControlWish wish;
	bool		is_starting;

	if (!prng_seeded)
		seed_prng();
	rearm_wanted = false;
	armed_interval = plh_enabled ? plh_sample_interval : 0;
	plh_countdown_scope = plh_scope;
	plh_control_poll(&wish);
	if (wish.present)
	{
		armed_interval = !wish.sampling ? 0 :
			wish.sample_interval != 0 ? wish.sample_interval :
			plh_sample_interval;
		if (wish.scope >= 0)
			plh_countdown_scope = wish.scope;
	}
	if (all_tracked)
	{
		armed_interval = 1;
		plh_countdown_scope = PLH_SCOPE_LONG_LIVED;
	}
	may_be_coarse = !wish.present;
	is_starting = just_forked && !wish.present &&
		armed_interval >= START_INTERVAL;
	just_forked = false;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] == NULL)
			continue;
		make_stale(countdowns[i]);
		countdowns[i]->is_starting = is_starting;
		countdowns[i]->start_stretches = is_starting;
	}
	plh_owner_settings_changed(armed_interval, plh_countdown_scope);
	errno = saved_errno;
}

/*
 * Start the countdown to the end of a gap, or to the next look at requests.
 * While the process starts, each chunk of an interval or more takes the slow
 * path.
 */
static inline void
count_down(PlhCountdown *countdown, uint64 gap)
{
	uint64		left = Min(gap, countdown->is_starting ? START_INTERVAL :
						   PLH_COUNTDOWN_MAX);

	*countdown->left = left;
	countdown->gap_left = gap - left;
}

/* The interval at which what is counted is sampled; 0: not at all. */
static inline uint32
interval_of(const PlhCountdown *countdown)
{
	return countdown->counted == PLH_COUNTED_CONTEXTS || plh_track_malloc ?
		armed_interval : 0;
}

/* Draw the next gap. */
static inline void
draw_gap(PlhCountdown *countdown)
{
	uint32		interval = interval_of(countdown);

	countdown->takes_each = interval == 1;
	if (countdown->is_starting)
		count_down(countdown, START_BYTES);
	else if (interval == 0)
		count_down(countdown, PLH_COUNTDOWN_MAX);
	else if (interval == 1)
		count_down(countdown, 0);
	else
		count_down(countdown, plh_sampling_gap(&prng, interval));
}

/*
 * Is a chunk of an interval or more, which no cache begins with, a sample?  A
 * gap of its own decides, so that the countdown stays as it is.
 */
static inline uint32
take_large(Size size, uint32 interval)
{
	return interval != 0 &&
		size >= (uint64) plh_sampling_gap(&prng, interval) ? interval : 0;
}

/* Does a process go on starting, when it has allocated START_BYTES? */
static inline bool
goes_on_starting(PlhCountdown *countdown)
{
	return countdown->start_stretches++ < START_STRETCHES &&
		plh_clock_us(CLOCK_MONOTONIC_COARSE) - forked_at_us < START_US &&
		plh_clock_us(CLOCK_THREAD_CPUTIME_ID) < START_CPU_US;
}

/*
 * Begin to count down at that place.
 */
void
plh_countdown_start(PlhCountdown *countdown, PlhCounted counted, uint64 *left)
{
	memset(countdown, 0, sizeof(*countdown));
	countdown->counted = counted;
	countdown->left = left;
	countdowns[counted] = countdown;
	make_stale(countdown);
}

/*
 * Does the work of plh_countdown_take where there are gaps, or something has
 * changed.
 */
PLH_EVERY_PROCESS uint32
plh_countdown_take_at_gap(PlhCountdown *countdown, Size size)
{
	uint64		gap;
	bool		was_starting;

	/* a signal handler that allocated within a step has brought it below 0 */
	if (unlikely(*countdown->left > PLH_COUNTDOWN_MAX &&
				 *countdown->left != PG_UINT64_MAX))
		*countdown->left = 0;
	if (plh_guard_held)
		return 0;
	if (unlikely(rearm_wanted || plh_control_changed()))
		rearm();
	if (unlikely(countdown->is_stale))
	{
		countdown->is_stale = false;
		draw_gap(countdown);
	}
	if (unlikely(countdown->is_starting && size >= armed_interval))
		return take_large(size, interval_of(countdown));
	gap = *countdown->left + countdown->gap_left;
	if (size < gap)
	{
		count_down(countdown, gap - size);
		return 0;
	}
	was_starting = countdown->is_starting;
	countdown->is_starting = was_starting && goes_on_starting(countdown);
	draw_gap(countdown);
	return was_starting ? 0 : interval_of(countdown);
}

/*
 * Does the work of plh_countdown_thin where there may be a longer interval.
 */
uint32
plh_countdown_thin_passing(Size size, uint32 interval, PlhLifetime lifetime)
{
	uint32		longer;

	if (!may_be_coarse)
		return interval;
	longer = plh_sampling_coarse_interval(interval,
										  plh_profile_counters_live_bytes[lifetime]);
	if (longer == interval)
		return interval;
	return plh_sampling_keeps(&prng, size, interval, longer) ? longer : 0;
}

/*
 * Does the work of plh_countdown_draw for an interval above 1.
 */
PlhDraw
plh_countdown_draw_weight(Size size, uint32 interval)
{
	return plh_sampling_draw(&prng, size, interval);
}

/*
 * Let the next allocation look at settings and requests, as the sampling is about
 * to change.
 */
PLH_EVERY_PROCESS void
plh_countdown_rearm(void)
{
	rearm_wanted = true;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] != NULL)
			make_stale(countdowns[i]);
	}
}

/*
 * Draw the gap anew where a countdown is below 0: that no slow path has followed, as a
 * signal handler has jumped out of the step, and without one it would stay there.  This
 * is called outside of steps.
 */
PLH_EVERY_PROCESS void
plh_countdown_mend(void)
{
	if (plh_guard_held)
		return;					/* nothing is counted when the process exits */
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] != NULL && *countdowns[i]->left > PLH_COUNTDOWN_MAX)
			make_stale(countdowns[i]);
	}
}

/*
 * If on, sample each allocation in session-long contexts, and each of malloc, from
 * the next one on, whatever settings and requests say.  If off, follow these again.
 */
void
plh_countdown_track_all(bool on)
{
	all_tracked = on;
	plh_countdown_rearm();
}

/*
 * Forget in a forked child what the parent was asked to do, and don't repeat its
 * random numbers.
 */
PLH_EVERY_PROCESS void
plh_countdown_forget(void)
{
	prng_seeded = false;
	all_tracked = false;
	just_forked = true;
	forked_at_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	plh_countdown_rearm();
}

/*
 * Record nothing from now on, as the process exits.
 */
PLH_EVERY_PROCESS void
plh_countdown_stop(void)
{
	plh_guard_held = true;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] != NULL)
			*countdowns[i]->left = PG_UINT64_MAX;
	}
}
