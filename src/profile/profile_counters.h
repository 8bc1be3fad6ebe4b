/*
 * profile_counters.h
 *	  The owner's side of a profile: the counters of its sites and its process.
 *
 * These functions may be called inside palloc, in critical sections too; they
 * never palloc or throw, and never make the profile grow.  Callers hold the
 * guard.
 */
#ifndef PLH_PROFILE_COUNTERS_H
#define PLH_PROFILE_COUNTERS_H

#include "base/sampling.h"
#include "profile/profile_layout.h"

/* When the last sample was counted, by the coarse monotonic clock. */
extern int64 plh_profile_counters_last_us;

/* What this process holds, by lifetime, but for what is at the catch-all site. */
extern int64 plh_profile_counters_live_bytes[PLH_LIFETIMES];

extern void plh_profile_counters_add(uint32 site, Size size, PlhDraw draw);
extern void plh_profile_counters_subtract(uint32 site, Size size,
										  PlhDraw draw);
extern void plh_profile_counters_fold(uint32 site, uint32 target);
extern void plh_profile_counters_begin_anew(uint32 site);
extern void plh_profile_counters_lose(PlhLoss loss, Size size, PlhDraw draw);
extern void plh_profile_counters_out_of_scope(void);
extern void plh_profile_counters_start(void);
extern void plh_profile_counters_transaction_over(void);
extern void plh_profile_counters_forget(void);

#endif							/* PLH_PROFILE_COUNTERS_H */
