/*
 * profile_counters.h
 *	  The owner's side of a profile: the counters of its sites and its process.
 *
 * These functions may be called inside palloc, in critical sections too; they never palloc or
 * throw, and never make the profile grow.  Callers hold the guard.
 */
#pragma once

#include "base/sampling.h"
#include "profile/profile_layout.h"

/* A statement's time, in which the highest peak is followed (statement_peaks.c). */
typedef struct PlhRun
{
	int64		peak_live_bytes;	/* most live bytes of the process; with
									 * PG_INT64_MAX nothing is followed */
	int64		due_bytes;		/* with that many, and more, is_due is set */
	bool		is_due;
	uint64		start_change;	/* numbers of the last change before it, and
								 * of the one at the peak */
	uint64		peak_change;
	double		peak_variance;	/* of all live bytes */
	int64		peak_samples;	/* all that were live */
	TimestampTz peak_at;
	int64		private_bytes;	/* of the process, most that was counted
								 * meanwhile; 0: it was not */
} PlhRun;

extern PlhRun plh_profile_run;

static inline bool
plh_profile_run_is_paused(void)
{
	return plh_profile_run.peak_live_bytes == PG_INT64_MAX;
}

/* The process may hold more than ever in the run, since the change of that number. */
static inline void
plh_profile_run_note_peak(const PlhProfileHeader *profile, uint64 number, TimestampTz now)
{
	PlhRun	   *run = &plh_profile_run;

	if (profile->counters.live_bytes <= run->peak_live_bytes)
		return;
	run->peak_live_bytes = profile->counters.live_bytes;
	run->peak_variance = profile->counters.live_variance;
	run->peak_samples = profile->counters.live_samples;
	run->peak_change = number;
	run->peak_at = now;
	run->is_due = run->peak_live_bytes >= run->due_bytes;
}

/* What this process holds, as of the last sample. */
typedef struct PlhHeld
{
	int64		at_us;			/* by the coarse monotonic clock */
	int64		live_bytes[PLH_LIFETIMES];
} PlhHeld;

extern PlhHeld plh_profile_counters_held;

extern uint32 plh_profile_counters_add(uint32 site, Size size, Size spare, PlhDraw draw);
extern void plh_profile_counters_subtract(uint32 site, Size size, PlhDraw draw, uint32 tick);
extern void plh_profile_counters_fold(uint32 site, uint32 target);
extern void plh_profile_counters_begin_anew(uint32 site);
extern void plh_profile_counters_count_lost(PlhLoss loss, Size size, PlhDraw draw);
extern void plh_profile_counters_out_of_scope(void);
extern void plh_profile_counters_start(void);
extern bool plh_profile_counters_transaction_over(void);
extern void plh_profile_counters_forget(void);

/* Begins to follow the peak, which is what is live now, and becomes due by itself. */
extern void plh_profile_counters_begin_run(void);

/* How much more a site held at the peak of the run than at its start, in kB. */
extern int64 plh_profile_counters_run_kb(const PlhSiteRecord *site);
