/*
 * leak_check.h
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * Called by a session about itself, never inside palloc.  Throws what the
 * statement throws.
 */
#ifndef PLH_LEAK_CHECK_H
#define PLH_LEAK_CHECK_H

#include "profile/profile_layout.h"
#include "report/stack_text.h"

/* A call site at which memory stays behind, or memory contexts that do. */
typedef struct PlhLeak
{
	const PlhSiteRecord *site;	/* the leaking site, or NULL */
	const PlhContextRecord *contexts;	/* if site is NULL, the contexts whose
										 * number grows */
	int			number;			/* in the order of the profile */
	int64		bytes;			/* after all iterations */
	int64		count;			/* of chunks; of contexts */
} PlhLeak;

typedef struct PlhLeakCheck
{
	int64		malloc_bytes;	/* the least that each iteration adds outside
								 * of memory contexts, beside the leaks of
								 * malloc; 0: none for sure */
	int			leak_count;
	PlhLeak    *leaks;			/* most bytes first; in the caller's memory
								 * context */
} PlhLeakCheck;

extern void plh_leak_check_run(const char *query, int iterations, int warmup,
							   bool bounded, PlhLeakCheck *check);

#endif							/* PLH_LEAK_CHECK_H */
