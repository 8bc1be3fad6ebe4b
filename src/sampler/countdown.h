/*
 * countdown.h
 *	  Decides which allocations are samples, by counting bytes down.
 *
 * There are two countdowns, one of memory contexts and one of malloc, with gaps of their own.  How
 * they are to be sampled is one question, which settings and requests answer for both.
 *
 * These functions may be called inside palloc and malloc; they never allocate, throw or lock.
 */
#pragma once

#include "base/guard.h"
#include "base/sampling.h"
#include "preload/countdown_step.h"
#include "profile/profile_layout.h"
#include "sampler/control.h"

/* A process looks at requests of others at least once in this many bytes. */
#define PLH_COUNTDOWN_MAX (1024 * 1024)

/* What is counted down, each at most once. */
typedef enum PlhCounted
{
	PLH_COUNTED_CONTEXTS,
	PLH_COUNTED_MALLOC,
	PLH_COUNTED					/* number of them, must be last */
} PlhCounted;

typedef struct PlhCountdown
{
	PlhCounted	counted;

	/*
	 * The allocation that brings this to 0 or below takes the slow path.  It
	 * is unsigned, as sizes are, so that a garbage size, such as that of a
	 * corrupt varlena, can't count up.  It lies where the fast path reaches
	 * it best.
	 */
	uint64	   *left;
	uint64		gap_left;		/* from there to the next sample, in bytes */

	bool		takes_each;		/* all gaps are 0, as the interval is 1 */
	bool		is_stale;		/* the gap is to be drawn anew */
	bool		is_starting;	/* what a process allocates first goes unseen */
	int			start_stretches;	/* parts of that which have begun */

	/* What was allocated before the first gap to a sample was drawn. */
	bool		has_begun;		/* one was */
	uint64		unseen_gap;		/* the gap that is counted down until then */
	uint64		unseen_bytes;	/* in those that are over */
} PlhCountdown;

extern void plh_countdown_start(PlhCountdown *countdown, PlhCounted counted, uint64 *left);
extern uint32 plh_countdown_take_at_gap(PlhCountdown *countdown, Size size);
extern uint32 plh_countdown_thin_passing(Size size, uint32 interval, PlhLifetime lifetime);
extern PlhDraw plh_countdown_draw_weight(Size size, uint32 interval);
extern void plh_countdown_rearm(void);
extern void plh_countdown_mend(void);
extern void plh_countdown_hurry(void);
extern void plh_countdown_track_all(bool on);
extern bool plh_countdown_watch(uint32 interval);
extern int64 plh_countdown_unsampled_bytes(void);
extern void plh_countdown_forget(void);
extern void plh_countdown_stop(void);

/* The scope of the samples to keep (PlhScope). */
extern int	plh_countdown_scope;

/*
 * Decide, when a countdown is over, if an allocation is a sample.  Returns its interval, or 0.  The
 * countdown starts anew in any case, before the original function can throw.
 */
static inline uint32
plh_countdown_take(PlhCountdown *countdown, Size size)
{
	if (countdown->takes_each && *countdown->left == 0 && !plh_guard_held && !plh_control_changed())
		return 1;
	return plh_countdown_take_at_gap(countdown, size);
}

/* Memory of that lifetime may have a longer interval: returns that of the sample; 0: it is none. */
static inline uint32
plh_countdown_thin(Size size, uint32 interval, PlhLifetime lifetime)
{
	return interval < PLH_COARSE_FROM || plh_lifetime_is_lasting(lifetime) ?
		interval : plh_countdown_thin_passing(size, interval, lifetime);
}

static inline PlhDraw
plh_countdown_draw(Size size, uint32 interval)
{
	return interval == 1 ? (PlhDraw)
	{
		.interval_bytes = 1
	} : plh_countdown_draw_weight(size, interval);
}
