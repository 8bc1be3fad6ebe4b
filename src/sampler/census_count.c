/*
 * census_count.c
 *	  What memory contexts and malloc hold, counted once.
 *
 * This code runs inside palloc.
 *
 * A walk over the tree of contexts is never cut into pieces: contexts come, go and move between two
 * of them, and the sum would be that of no moment.  Where there is no time for a whole one, it is
 * given up, and the figures stay those of the last.  The tree is whole whenever a method of a
 * context is called.
 */
#include "postgres.h"

#include "nodes/memnodes.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/allocator.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "profile/profile.h"
#include "sampler/census_count.h"
#include "sampler/census_examples.h"
#include "sampler/census_portals.h"
#include "sampler/context_name.h"
#include "sampler/lifetime.h"

/*
 * The clock is read once per CLOCK_CONTEXTS contexts, which take a tenth of the time of a brief
 * census at most.
 */
#define CLOCK_CONTEXTS 512

/* Which records the contexts of this one were added to. */
static uint32 census_number;

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

/* A context whose reset has begun counts as it will be: with the block that it began with. */
static int64
bytes_of(MemoryContext context, MemoryContext over)
{
	if (context == over)
		return Min(context->mem_allocated, ALLOCSET_DEFAULT_INITSIZE);
	return context->mem_allocated;
}

/* Add a context to its record, if there is room for one. */
static void
count_context(MemoryContext context, PlhLifetime lifetime, int64 bytes)
{
	uint32		name = plh_profile_string(plh_context_name(context), PLH_CONTEXT_NAME_MAX);
	PlhContextRecord *record = name == 0 ? NULL : plh_profile_context(name, lifetime);

	if (record == NULL)
		return;
	if (record->census != census_number)
	{
		record->census = census_number;
		record->counted_instances = 0;
		record->counted_bytes = 0;
		record->looks = plh_census_examples_begin(record, context);
	}
	record->counted_instances++;
	record->counted_bytes += bytes;
	if (unlikely(record->looks != 0))
		plh_census_examples_look(record, context, bytes);
}

/* Note how the contexts of one name grow, once they are counted. */
static void
note_course(PlhContextRecord *record, TimestampTz now)
{
	PlhContextCheckpoint *last = &record->checkpoints[PLH_CHECKPOINTS - 1];

	if (record->instances == 0)
		return;
	if (record->first_at == 0)
		record->first_at = now;
	if (record->instances > record->most_instances)
	{
		record->most_instances = record->instances;
		record->rises++;
	}
	if (now - record->first_at < Max(USECS_PER_SEC, 2 * (last->at - record->first_at)))
		return;
	memmove(&record->checkpoints[0], &record->checkpoints[1],
			sizeof(PlhContextCheckpoint) * (PLH_CHECKPOINTS - 1));
	last->at = now;
	last->instances = record->instances;
	last->bytes = record->bytes;
}

/* Readers see the figures of a whole census only: note them, now that it is one. */
static void
keep_records(bool is_asked)
{
	TimestampTz now = plh_clock_coarse_now();

	for (PlhContextRecord *record = plh_profile_next_context(NULL);
		 record != NULL; record = plh_profile_next_context(record))
	{
		bool		counted = record->census == census_number;

		record->instances = counted ? record->counted_instances : 0;
		record->bytes = counted ? record->counted_bytes : 0;
		if (!is_asked)
			note_course(record, now);
	}
	plh_census_examples_keep();
	plh_census_portals_keep();
}

bool
plh_census_count_take(const PlhCensusCount *how)
{
	int64		bytes = 0;
	int64		passing_bytes = 0;
	MemoryContextCounters counters = {0};
	uint32		count = 0;

	census_number++;
	plh_census_examples_start(how->end_us != 0);
	plh_census_portals_start();
	for (MemoryContext context = TopMemoryContext; context != NULL; context = next_context(context))
	{
		PlhLifetime lifetime = plh_lifetime_of(context);
		int64		context_bytes = bytes_of(context, how->over);

		count_context(context, lifetime, context_bytes);
		plh_census_portals_count(context, lifetime, context_bytes);
		bytes += context_bytes;
		if (!plh_lifetime_is_lasting(lifetime))
			passing_bytes += context_bytes;
		if (how->with_free && context != how->over)
			context->methods->stats(context, NULL, NULL, &counters, false);
		count++;
		if (how->end_us != 0 && count % CLOCK_CONTEXTS == 0 &&
			plh_clock_us(CLOCK_THREAD_CPUTIME_ID) >= how->end_us)
			return false;
	}
	keep_records(how->is_asked);
	plh_profile->context_bytes = bytes;
	plh_profile->passing_bytes = passing_bytes;
	plh_profile->context_free_bytes = how->with_free ? (int64) counters.freespace : -1;
	plh_profile->context_count = count;
	return true;
}

void
plh_census_count_contexts(void)
{
	const PlhCensusCount whole = {0};
	bool		was_held = plh_guard_take();

	Assert(plh_profile != NULL);
	plh_profile_turn_census();
	(void) plh_census_count_take(&whole);
	plh_profile_turn_census();
	plh_guard_restore(was_held);
}

void
plh_census_count_as_free(MemoryContext over)
{
	int64		bytes = over->mem_allocated - bytes_of(over, over);

	if (plh_profile->malloc_bytes < 0)
		return;
	plh_profile->malloc_bytes -= bytes;
	plh_profile->malloc_free_bytes += bytes;
}

void
plh_census_count_malloc(void)
{
	PlhAllocatorFigures figures;
	bool		is_known = plh_allocator_count(&figures);

	plh_profile->allocator = plh_allocator();
	plh_profile->malloc_bytes = is_known ? figures.used_bytes : -1;
	plh_profile->malloc_free_bytes = is_known ? figures.free_bytes : -1;
	plh_profile->malloc_arena_bytes = figures.arena_bytes;
}

PLH_EVERY_PROCESS void
plh_census_count_forget(void)
{
	memset(&census_number, 0, sizeof(census_number));
}
