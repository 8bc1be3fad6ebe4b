/*
 * census.c
 *	  The bytes that all memory contexts and malloc hold, now and over time.
 *
 * This code runs inside palloc.
 *
 * The owner walks over the tree of its contexts as often as callers ask for
 * it.  If there are so many contexts that a walk takes long, walks take at
 * most 0.1% of the time.  The tree is whole whenever a method of a context is
 * called.
 */
#include "postgres.h"

#include <malloc.h>

#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "port/atomics.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/guard.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "sampler/census.h"
#include "sampler/lifetime.h"

/* Two points of the history lie this far apart at first. */
#define HISTORY_GAP_US ((int64) 1000000)

/*
 * The pause after a census is this many times its cost: censuses take at most
 * 0.1% of the time.
 */
#define CENSUS_SHARE 1000

static int64 last_census_us;	/* by the monotonic clock; 0: none yet */
static int64 last_cpu_us;		/* processor time that the last one took */
static int64 cost_us;			/* processor time expected of the next one */
static uint32 census_number;
static int64 history_gap_us;	/* between two points of the history */

/* Returns the context behind another one in the tree; NULL at the end. */
static MemoryContext
next_context(MemoryContext context)
{
	Assert(MemoryContextIsValid(context));
	if (context->firstchild != NULL)
	{
		Assert(context->firstchild->parent == context);
		return context->firstchild;
	}
	while (context != NULL && context->nextchild == NULL)
		context = context->parent;
	return context == NULL ? NULL : context->nextchild;
}

/* Add a context to its record, if there is room for one. */
static void
count_context(MemoryContext context)
{
	uint32		name = plh_profile_string(context->name,
										  PLH_CONTEXT_NAME_MAX);
	PlhContextRecord *record = name == 0 ? NULL :
		plh_profile_context(name, plh_lifetime_of(context));

	if (record == NULL)
		return;
	if (record->census != census_number)
	{
		record->census = census_number;
		record->counted_instances = 0;
		record->counted_bytes = 0;
	}
	record->counted_instances++;
	record->counted_bytes += context->mem_allocated;
}

/*
 * Count all contexts now.
 */
void
plh_census_count_contexts(void)
{
	int64		bytes = 0;
	uint32		count = 0;
	bool		was_held = plh_guard_take();

	Assert(plh_profile != NULL);

	/* the leak check calls from outside palloc, without the guard */
	census_number++;
	for (MemoryContext context = TopMemoryContext; context != NULL;
		 context = next_context(context))
	{
		count_context(context);
		bytes += context->mem_allocated;
		count++;
	}

	/* readers see the figures of a whole census only */
	for (PlhContextRecord *record = plh_profile_next_context(NULL);
		 record != NULL; record = plh_profile_next_context(record))
	{
		bool		counted = record->census == census_number;

		record->instances = counted ? record->counted_instances : 0;
		record->bytes = counted ? record->counted_bytes : 0;
	}
	plh_profile->context_bytes = bytes;
	plh_profile->context_count = count;
	plh_guard_restore(was_held);
}

/*
 * Returns how many bytes malloc has given out, or -1 if malloc is not glibc's
 * or too old to tell.
 */
static int64
malloc_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	if (info.arena + info.hblkhd > 0)
		return info.uordblks + info.hblkhd;
#endif
	return -1;
}

/* Make room in a full history: keep every other point. */
static void
thin_out_history(void)
{
	for (int i = 0; i < PLH_HISTORY_POINTS / 2; i++)
		plh_profile->history[i] = plh_profile->history[2 * i];
	plh_profile->history_count = PLH_HISTORY_POINTS / 2;
	history_gap_us *= 2;
}

/* Add a point to the history, unless the last one is too near. */
static void
add_to_history(TimestampTz now)
{
	uint32		count = plh_profile->history_count;

	if (history_gap_us == 0)
		history_gap_us = HISTORY_GAP_US;
	if (count > 0 &&
		now - plh_profile->history[count - 1].at < history_gap_us)
		return;
	if (count == PLH_HISTORY_POINTS)
	{
		thin_out_history();
		count = plh_profile->history_count;
	}
	Assert(count < PLH_HISTORY_POINTS);
	plh_profile->history[count].at = now;
	plh_profile->history[count].live_bytes = plh_profile->counters.live_bytes;
	plh_profile->history[count].context_bytes = plh_profile->context_bytes;
	pg_write_barrier();
	plh_profile->history_count = count + 1;
}

/*
 * Take a census, if the last one is at least "gap_us" old and the pause that
 * its cost demands is over.  Returns whether a census was taken.
 *
 * The cost is processor time, the lesser of the last two censuses: one that
 * was interrupted, or met cold pages, must not put off the next for seconds.
 */
bool
plh_census_take_if_older(int64 gap_us)
{
	int64		started_us,
				cpu_us;
	TimestampTz now;

	Assert(plh_guard_held && CritSectionCount == 0);
	if (last_census_us != 0 &&
		plh_clock_us(CLOCK_MONOTONIC_COARSE) <
		last_census_us + Max(gap_us, CENSUS_SHARE * cost_us))
		return false;

	started_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID);
	last_census_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	plh_census_count_contexts();
	plh_profile->malloc_bytes = malloc_bytes();
	now = GetCurrentTimestamp();
	plh_profile->census_at = now;
	add_to_history(now);
	cpu_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID) - started_us;
	cost_us = Min(cpu_us, last_cpu_us);
	last_cpu_us = cpu_us;
	return true;
}

/*
 * Forget the censuses in a forked child: they are the parent's.
 */
void
plh_census_forget(void)
{
	last_census_us = 0;
	last_cpu_us = 0;
	cost_us = 0;
	census_number = 0;
	history_gap_us = 0;
}
