/*
 * profile_run.c
 *	  A stretch of time, as a statement's, in which the highest peak is followed.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/guard.h"
#include "base/page_layout.h"
#include "profile/profile_file.h"
#include "profile/profile_run.h"

PlhRun		plh_profile_run = {.peak_live_bytes = PG_INT64_MAX};

void
plh_profile_run_begin(void)
{
	const PlhCounters *counters = &plh_profile->counters;
	PlhRun	   *run = &plh_profile_run;

	Assert(plh_guard_held);
	run->peak_live_bytes = counters->live_bytes;
	run->peak_variance = counters->live_variance;
	run->peak_samples = counters->live_samples;
	run->start_change = run->peak_change = plh_profile->last_change;
	run->peak_at = counters->last_at;
	run->is_due = false;
}

int64
plh_profile_run_kb(const PlhSiteRecord *site)
{
	const PlhRun *run = &plh_profile_run;

	if (site->last_change <= run->start_change)
		return 0;
	return (int64) (site->last_change <= run->peak_change ?
					plh_profile_run_in_kb(site->counters.live_bytes) : site->run_peak_kb) -
		site->run_start_kb;
}

/*
 * Follow nothing in a forked child.
 */
PLH_EVERY_PROCESS void
plh_profile_run_forget(void)
{
	memset(&plh_profile_run, 0, sizeof(plh_profile_run));
	plh_profile_run.peak_live_bytes = PG_INT64_MAX;
}
