/*
 * found_leaks.h
 *	  What stays behind each time that a statement runs: what is lost by a proof, and what grows in
 *	  two halves of the runs.
 */
#pragma once

#include "check/leak_snapshot.h"
#include "profile/profile_layout.h"

/* A call site at which memory stays behind, or memory contexts that do. */
typedef struct PlhLeak
{
	const PlhSiteRecord *site;	/* the leaking site, or NULL */
	const PlhContextRecord *contexts;	/* if site is NULL, the contexts whose
										 * number grows */
	bool		is_lost;		/* nothing points to these chunks; else, they
								 * became more in each half */
	int			number;			/* in the order of the profile */
	int64		bytes;			/* after all runs */
	int64		count;			/* of chunks; of contexts */
	int64		runs;			/* of the statement, of which these are */

	/* Where allocations were made to fail (failing_check.c); else 0. */
	int			failures;		/* how many of them leave something here */
	int64		first_failure;	/* number of the first of these allocations */
	uint32		failing_site;	/* its site, as an offset in the profile */
} PlhLeak;

typedef struct PlhLeaks
{
	int			count;
	int			room;
	PlhLeak    *leaks;			/* most bytes per run first, once sorted */
} PlhLeaks;

/* What may be leaks of that number of runs, in an array that "memory" has. */
extern void plh_found_leaks_find(PlhLeaks *found, const PlhLeakHalves *halves,
								 int64 runs, MemoryContext memory);

/*
 * Of those that have grown, keep those that grew in both halves of as many other runs, and count no
 * more than that.
 */
extern void plh_found_leaks_confirm(PlhLeaks *found, const PlhLeakHalves *halves);

/* Add a leak to those at the same place, in an array that "memory" has. */
extern void plh_found_leaks_merge(PlhLeaks *found, const PlhLeak *leak, MemoryContext memory);

/* Is there one of that site that is lost? */
extern bool plh_found_leaks_has_lost(const PlhLeaks *found, int number);

/* Are there any that are not lost? */
extern bool plh_found_leaks_has_grown(const PlhLeaks *found);
extern void plh_found_leaks_sort(PlhLeaks *found);

static inline PlhHolder
plh_found_leaks_holder(const PlhLeak *leak)
{
	return leak->site != NULL ? PLH_HOLDER_SITE : PLH_HOLDER_CONTEXTS;
}
