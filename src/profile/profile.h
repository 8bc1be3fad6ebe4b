/*
 * profile.h
 *	  The owner's side of a profile: records are added, and counters kept.
 *
 * Callable inside palloc; never pallocs or throws.  Functions that may make
 * the profile grow (all that return an offset) must not be called in a
 * critical section.  An offset of 0 says that there is no room.
 */
#ifndef PLH_PROFILE_H
#define PLH_PROFILE_H

#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/sampling.h"
#include "base/unwind.h"
#include "profile/profile_layout.h"

/* This process' profile; NULL before plh_profile_begin.  Others only read it. */
extern PlhProfileHeader *plh_profile;

/* Now, to a few milliseconds: cheap enough for every allocation. */
static inline TimestampTz
plh_coarse_now(void)
{
	return plh_clock_us(CLOCK_REALTIME_COARSE) -
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * USECS_PER_SEC;
}

/* profile.c */
extern bool plh_profile_begin(void);
extern void plh_profile_forget(void);
extern Size plh_profile_private_bytes(void);
extern uint32 plh_profile_string(const char *text, Size max_bytes);
extern uint32 plh_profile_statement(uint64 query_id, const char *text);
extern uint32 plh_profile_stack(const PlhStack *captured);
extern uint32 plh_profile_site(const PlhSiteKey *key);
extern PlhContextRecord *plh_profile_context(uint32 context_name,
											 uint32 lifetime);
extern PlhContextRecord *plh_profile_next_context(const PlhContextRecord *context);

/* profile_counters.c */
extern void plh_profile_add(uint32 site, Size size, PlhDraw draw);
extern void plh_profile_subtract(uint32 site, Size size, PlhDraw draw);
extern void plh_profile_lose(PlhLoss loss, Size size, PlhDraw draw);
extern void plh_profile_out_of_scope(void);
extern void plh_profile_counters_start(void);
extern void plh_profile_counters_forget(void);

#endif							/* PLH_PROFILE_H */
