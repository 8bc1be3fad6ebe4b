/*
 * countdown.c
 *	  Decides which allocations are samples, by counting bytes down.
 *
 * This code runs inside palloc and malloc.
 */
#include "postgres.h"

#include <time.h>

#include "miscadmin.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_counters.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"

/*
 * What a process of the server allocates first fills its caches.  START_BYTES go without samples at
 * intervals from START_INTERVAL on, as the first unwinding costs 100 us, because libunwind knows
 * none of the frames yet: a short connection would pay that for a sample or two.  Within the first
 * milliseconds of processor time it is several times as much: a connection that is over by then has
 * run a few statements.  On a busy machine these milliseconds take longer, but not for an idle
 * session.
 */
#define START_BYTES (2 * 1024 * 1024)
#define START_INTERVAL (256 * 1024)
#define START_STRETCHES 4
#define START_CPU_US 20000
#define START_US 200000

/* A size of more is garbage, which the method refuses. */
#define UNSEEN_MAX ((uint64) 1 << 40)

/* Those in use; NULL where nothing is counted. */
static PLH_SET_AT_LOAD PlhCountdown *countdowns[PLH_COUNTED];

/* The current scope.  A forked child sets it before its first sample. */
PLH_SURVIVES_FORK int plh_countdown_scope;

static struct
{
	bool		is_armed;		/* else look at settings and requests first */
	uint32		armed_interval; /* for which gaps are drawn; 0: off */

	bool		may_be_coarse;	/* unless somebody asked for this interval */
	bool		all_tracked;	/* whatever settings and requests say */
	uint32		watch_interval; /* while a statement is watched; else 0 */
	bool		just_forked;
	int64		forked_at_us;	/* by the coarse clock */
	bool		counted_from_start; /* as its parent had the module */
	pg_prng_state prng;
	bool		prng_seeded;
}			state;

/* Seed the random numbers as no other process does. */
static PLH_EVERY_PROCESS void
seed_prng(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	pg_prng_seed(&state.prng, ((uint64) MyProcPid << 32) ^
				 ((uint64) now.tv_sec << 30) ^ (uint64) now.tv_nsec);
	state.prng_seeded = true;
}

/* What is left to count down; nothing where a signal handler has brought it below 0. */
static inline uint64
left_of(const PlhCountdown *countdown)
{
	return *countdown->left > PLH_COUNTDOWN_MAX ? 0 : *countdown->left + countdown->gap_left;
}

/* What was counted down of a gap that ends at no sample, before the first that does. */
static inline uint64
unseen_in_gap(const PlhCountdown *countdown)
{
	return countdown->has_begun ? 0 :
		countdown->unseen_gap - Min(left_of(countdown), countdown->unseen_gap);
}

/* Add that up, as the gap ends. */
static void
note_unseen(PlhCountdown *countdown)
{
	countdown->unseen_bytes += unseen_in_gap(countdown);
	countdown->unseen_gap = 0;
}

/* Let the next allocation draw a new gap. */
static void
make_stale(PlhCountdown *countdown)
{
	note_unseen(countdown);
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
	PlhControlRequest request;
	bool		is_starting;

	if (!state.prng_seeded)
		seed_prng();
	state.is_armed = true;
	state.armed_interval = plh_enabled ? plh_sample_interval : 0;
	plh_countdown_scope = plh_scope;
	plh_control_poll(&request);
	if (request.present)
	{
		state.armed_interval = !request.sampling ? 0 :
			request.sample_interval != 0 ? request.sample_interval : plh_sample_interval;
		if (request.scope >= 0)
			plh_countdown_scope = request.scope;
	}
	if (state.watch_interval != 0)
	{
		state.armed_interval = state.armed_interval == 0 ? state.watch_interval :
			Min(state.armed_interval, state.watch_interval);
		plh_countdown_scope = PLH_SCOPE_ALL;
	}
	if (state.all_tracked)
	{
		state.armed_interval = 1;
		plh_countdown_scope = PLH_SCOPE_LONG_LIVED;
	}
	state.may_be_coarse = !request.present && state.watch_interval == 0;
	is_starting = state.just_forked && !request.present && state.armed_interval >= START_INTERVAL;
	state.just_forked = false;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] == NULL)
			continue;
		make_stale(countdowns[i]);
		countdowns[i]->is_starting = is_starting;
		countdowns[i]->start_stretches = is_starting;
	}
	plh_owner_settings_changed(state.armed_interval, plh_countdown_scope);
	errno = saved_errno;
}

/*
 * Start the countdown to the end of a gap, or to the next look at requests.  While the process
 * starts, each chunk of an interval or more takes the slow path.
 */
static inline void
count_down(PlhCountdown *countdown, uint64 gap)
{
	uint64		left = Min(gap, countdown->is_starting ? START_INTERVAL : PLH_COUNTDOWN_MAX);

	*countdown->left = left;
	countdown->gap_left = gap - left;
}

/* The interval at which what is counted is sampled; 0: not at all. */
static inline uint32
interval_of(const PlhCountdown *countdown)
{
	return countdown->counted == PLH_COUNTED_CONTEXTS || plh_track_malloc ?
		state.armed_interval : 0;
}

/* Begin a gap that ends at no sample. */
static inline void
begin_unseen_gap(PlhCountdown *countdown, uint64 gap)
{
	countdown->unseen_gap = gap;
	count_down(countdown, gap);
}

/* Draw the next gap. */
static inline void
draw_gap(PlhCountdown *countdown)
{
	uint32		interval = interval_of(countdown);

	countdown->takes_each = interval == 1;
	if (countdown->is_starting)
		begin_unseen_gap(countdown, START_BYTES);
	else if (interval == 0)
		begin_unseen_gap(countdown, PLH_COUNTDOWN_MAX);
	else
	{
		countdown->has_begun = true;
		count_down(countdown, interval == 1 ? 0 : plh_sampling_gap(&state.prng, interval));
	}
}

/* No cache begins with a chunk of an interval or more: a gap of its own decides about that. */
static inline uint32
take_large(Size size, uint32 interval)
{
	return interval != 0 && size >= (uint64) plh_sampling_gap(&state.prng, interval) ? interval : 0;
}

/* Does a process go on starting, when it has allocated START_BYTES? */
static inline bool
goes_on_starting(PlhCountdown *countdown)
{
	return countdown->start_stretches++ < START_STRETCHES &&
		plh_clock_us(CLOCK_MONOTONIC_COARSE) - state.forked_at_us < START_US &&
		plh_clock_us(CLOCK_THREAD_CPUTIME_ID) < START_CPU_US;
}

void
plh_countdown_start(PlhCountdown *countdown, PlhCounted counted, uint64 *left)
{
	memset(countdown, 0, sizeof(*countdown));
	countdown->counted = counted;
	countdown->left = left;
	countdowns[counted] = countdown;
	make_stale(countdown);
}

PLH_EVERY_PROCESS uint32
plh_countdown_take_at_gap(PlhCountdown *countdown, Size size)
{
	uint64		gap;
	bool		was_starting;

	/* a signal handler that allocated within a step has brought it below 0 */
	if (unlikely(*countdown->left > PLH_COUNTDOWN_MAX && *countdown->left != PG_UINT64_MAX))
		*countdown->left = 0;
	if (plh_guard_held)
		return 0;
	if (unlikely(!state.is_armed || plh_control_changed()))
		rearm();
	if (unlikely(countdown->is_stale))
	{
		countdown->is_stale = false;
		draw_gap(countdown);
	}
	if (unlikely(countdown->is_starting && size >= state.armed_interval))
		return take_large(size, interval_of(countdown));
	gap = *countdown->left + countdown->gap_left;
	if (size < gap)
	{
		count_down(countdown, gap - size);
		return 0;
	}
	if (unlikely(!countdown->has_begun))
	{
		note_unseen(countdown);
		countdown->unseen_bytes += size < UNSEEN_MAX ? size : 0;
	}
	was_starting = countdown->is_starting;
	countdown->is_starting = was_starting && goes_on_starting(countdown);
	draw_gap(countdown);
	return was_starting ? 0 : interval_of(countdown);
}

uint32
plh_countdown_thin_passing(Size size, uint32 interval, PlhLifetime lifetime)
{
	uint32		longer;

	if (!state.may_be_coarse)
		return interval;
	longer = plh_sampling_coarse_interval(interval, plh_profile_counters_held.live_bytes[lifetime]);
	if (longer == interval)
		return interval;
	return plh_sampling_keeps(&state.prng, size, interval, longer) ? longer : 0;
}

PlhDraw
plh_countdown_draw_weight(Size size, uint32 interval)
{
	return plh_sampling_draw(&state.prng, size, interval);
}

/* Let the next allocation look at settings and requests, as the sampling is about to change. */
PLH_EVERY_PROCESS void
plh_countdown_rearm(void)
{
	state.is_armed = false;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] != NULL)
			make_stale(countdowns[i]);
	}
}

/* Let the next allocation in a context take the slow path.  The gap to the next sample stays. */
void
plh_countdown_hurry(void)
{
	PlhCountdown *countdown = countdowns[PLH_COUNTED_CONTEXTS];

	if (countdown == NULL || *countdown->left > PLH_COUNTDOWN_MAX)
		return;
	countdown->gap_left += *countdown->left;
	*countdown->left = 0;
}

/*
 * Draw the gap anew where a countdown is below 0: that no slow path has followed, as a signal
 * handler has jumped out of the step, and without one it would stay there.  This is called outside
 * of steps.
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

/* From now on, sample each allocation in session-long contexts, and each of malloc; or no more. */
void
plh_countdown_track_all(bool on)
{
	state.all_tracked = on;
	plh_countdown_rearm();
}

/*
 * From now on, sample at that interval, or a shorter one, in all contexts; 0: no more.  Returns
 * false where plh_countdown_track_all is on, which comes first.
 */
bool
plh_countdown_watch(uint32 interval)
{
	if (interval != 0 && state.all_tracked)
		return false;
	state.watch_interval = interval;
	plh_countdown_rearm();
	return true;
}

/* Forget in a forked child what the parent was asked to do, and don't repeat its random numbers. */
PLH_EVERY_PROCESS void
plh_countdown_forget(void)
{
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] == NULL)
			continue;
		countdowns[i]->has_begun = false;
		countdowns[i]->unseen_gap = 0;
		countdowns[i]->unseen_bytes = 0;
	}
	memset(&state, 0, sizeof(state));
	state.counted_from_start = true;
	state.just_forked = true;
	state.forked_at_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	plh_countdown_rearm();
}

/* Record nothing from now on, as the process exits. */
PLH_EVERY_PROCESS void
plh_countdown_stop(void)
{
	plh_guard_held = true;
	for (int i = 0; i < PLH_COUNTED; i++)
	{
		if (countdowns[i] == NULL)
			continue;
		note_unseen(countdowns[i]);
		*countdowns[i]->left = PG_UINT64_MAX;
	}
}

/*
 * The bytes that this process allocated in memory contexts before its sampling began; -1: not
 * known, as some were before the module was loaded.  Large chunks that were samples by chance do
 * not count, nor what malloc is asked for: blocks of contexts are told from that for samples only.
 */
int64
plh_countdown_unsampled_bytes(void)
{
	const PlhCountdown *countdown = countdowns[PLH_COUNTED_CONTEXTS];

	return !state.counted_from_start || countdown == NULL ? -1 :
		(int64) (countdown->unseen_bytes + unseen_in_gap(countdown));
}
