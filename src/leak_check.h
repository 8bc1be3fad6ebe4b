/*
 * leak_check.h
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * Called by a session about itself, never inside palloc.  Throws what the
 * statement throws.
 */
#ifndef PLH_LEAK_CHECK_H
#define PLH_LEAK_CHECK_H

#include "profile_layout.h"
#include "stack_text.h"

/* A call site at which memory stays behind. */
typedef struct PlhLeak
{
	const PlhSiteRecord *site;	/* in this process' own profile */
	int			number;			/* of the site in the profile, from 0 on */
	int64		bytes;			/* after all iterations */
	int64		count;
} PlhLeak;

typedef struct PlhLeakCheck
{
	int			leak_count;
	PlhLeak    *leaks;			/* most bytes first; in the caller's memory
								 * context */
	int64		lost_samples;	/* allocations that are not accounted for */
} PlhLeakCheck;

extern void plh_leak_check_run(const char *query, int iterations, int warmup,
							   PlhLeakCheck *check);
extern bool plh_leak_check_is_relcache(const PlhStackText *stack);

#endif							/* PLH_LEAK_CHECK_H */
