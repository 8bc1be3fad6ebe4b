/*
 * profile_run.h
 *	  A stretch of time, as a statement's, in which the highest peak is followed.
 *
 * statement_peaks.c begins and ends it; profile_counters.c tells of each change.
 *
 * These functions may be called inside palloc; callers hold the guard.
 */
#ifndef PLH_PROFILE_RUN_H
#define PLH_PROFILE_RUN_H

#include "profile/profile_layout.h"

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
} PlhRun;

extern PlhRun plh_profile_run;

/* Begins to follow the peak, which is what is live now, and becomes due by itself. */
extern void plh_profile_run_begin(void);

/* How much more a site held at the peak of the run than at its start, in kB. */
extern int64 plh_profile_run_kb(const PlhSiteRecord *site);

extern void plh_profile_run_forget(void);

static inline bool
plh_profile_run_is_paused(void)
{
	return plh_profile_run.peak_live_bytes == PG_INT64_MAX;
}

static inline uint32
plh_profile_run_in_kb(int64 bytes)
{
	return bytes <= 0 ? 0 : Min((uint64) bytes >> 10, PG_UINT32_MAX);
}

/*
 * A site is about to change: if it is the first time in the run or since its peak, note
 * what it held.
 */
static inline void
plh_profile_run_note_site(PlhSiteRecord *site)
{
	uint32		kb;

	if (site->last_change > plh_profile_run.peak_change)
		return;
	kb = plh_profile_run_in_kb(site->counters.live_bytes);
	if (site->last_change <= plh_profile_run.start_change)
		site->run_start_kb = kb;
	site->run_peak_kb = kb;
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

#endif							/* PLH_PROFILE_RUN_H */
