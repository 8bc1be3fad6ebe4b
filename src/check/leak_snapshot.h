/*
 * leak_snapshot.h
 *	  What this session holds at some time, by call site and by name of memory context, and the
 *	  gain from one time to another; and what malloc has given out other than to memory
 *	  contexts.
 *
 * Called by a session about itself, which has a profile, never inside palloc.
 */
#pragma once

#include "check/held_series.h"

/* The things that may stay behind. */
typedef enum PlhHolder
{
	PLH_HOLDER_SITE,			/* chunks of a call site */
	PLH_HOLDER_CONTEXTS			/* memory contexts of a name */
#define PLH_HOLDERS (PLH_HOLDER_CONTEXTS + 1)
} PlhHolder;

/*
 * The figures of each site, and of each name.  Names are numbered from the oldest on.  The number
 * of a site is its offset in the profile.  Both are the same in all snapshots, as long as
 * recycling is suspended.
 */
typedef struct PlhLeakSnapshot
{
	PlhHeldSeries series[PLH_HOLDERS];
} PlhLeakSnapshot;

/*
 * Three snapshots: before the first half, between the halves, at the end.  And what was proven to
 * be lost at the start and at the end, or NULL.
 */
typedef struct PlhLeakHalves
{
	const PlhLeakSnapshot *start;
	const PlhLeakSnapshot *middle;
	const PlhLeakSnapshot *end;
	const PlhHeldSeries *lost_at_start;
	const PlhHeldSeries *lost_at_end;
} PlhLeakHalves;

extern void plh_leak_snapshot_take(PlhLeakSnapshot *snapshot, MemoryContext memory);

/*
 * Is it a gain?  Contexts must have become more.  Chunks may be of 0 bytes, and may grow by
 * realloc.
 */
extern bool plh_leak_snapshot_is_gain(PlhHolder holder, PlhHeld gained);

/* Of both halves together, beside what was lost. */
extern PlhHeld plh_leak_snapshot_gain(const PlhLeakHalves *halves, PlhHolder holder, int number);
extern bool plh_leak_snapshot_has_gained(const PlhLeakSnapshot *from, const PlhLeakSnapshot *to);

/* Is there a gain in each of both halves, and beside what was lost? */
extern bool plh_leak_snapshot_grows(const PlhLeakHalves *halves, PlhHolder holder, int number);

/* What was in use at some time. */
typedef struct PlhMallocSnapshot
{
	int64		malloc_bytes;	/* -1: not known */
	int64		context_bytes;	/* of these, by memory contexts */
} PlhMallocSnapshot;

extern PlhMallocSnapshot plh_leak_snapshot_malloc(void);

/* Returns 0 where it is not sure that there was a gain. */
extern int64 plh_leak_snapshot_malloc_since(const PlhMallocSnapshot *before, int iterations);

extern int64 plh_leak_snapshot_malloc_beside(int64 gained, double bytes, double chunks);
