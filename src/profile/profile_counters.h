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

/* What this process holds, as of the last sample. */
typedef struct PlhHeld
{
	int64		at_us;			/* by the coarse monotonic clock */
	int64		live_bytes[PLH_LIFETIMES];
} PlhHeld;

extern PlhHeld plh_profile_counters_held;

extern uint32 plh_profile_counters_add(uint32 site, Size size, PlhDraw draw);
extern void plh_profile_counters_subtract(uint32 site, Size size,
										  PlhDraw draw, uint32 tick);
extern void plh_profile_counters_fold(uint32 site, uint32 target);
extern void plh_profile_counters_begin_anew(uint32 site);
extern void plh_profile_counters_count_lost(PlhLoss loss, Size size, PlhDraw draw);
extern void plh_profile_counters_out_of_scope(void);
extern void plh_profile_counters_start(void);
extern bool plh_profile_counters_transaction_over(void);
extern void plh_profile_counters_forget(void);

#endif							/* PLH_PROFILE_COUNTERS_H */
