/*
 * live_samples.c
 *	  The sampled chunks that are allocated now.
 *
 * This code runs inside palloc.
 *
 * There are two tables: one of samples by chunk, and one of watched contexts by context.  A watched
 * context is one that has our reset callback; its entry heads the doubly linked list of its
 * samples.  The callback's struct lies in the entry, which must stay in place until the callback
 * has fired, even in a forked child that wants none of the samples.
 *
 * Invariant: a sample is in the list of exactly one watched context and, where chunks can't be
 * marked, in the filter.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "profile/profile_counters.h"
#include "sampler/chunk_mark.h"
#include "sampler/live_samples.h"
#include "sampler/otel_memory.h"
#include "sampler/plan_nodes.h"
#include "sampler/sample_filter.h"

/* A forked child forgets the samples; it has the contexts that its parent watched. */
static PLH_SURVIVES_FORK PlhPointerTable samples;
static PLH_SURVIVES_FORK PlhPointerTable contexts;
static PLH_SET_AT_LOAD MemoryContextCallbackFunction reset_callback;

/* It is watched by the child, too. */
PLH_SURVIVES_FORK PlhWatchedContext *plh_live_samples_last_watched;

static PlhLiveSample *
sample_at(uint32 index)
{
	return plh_pointer_table_entry(&samples, index);
}

/* Tells a sample from the others.  The compiler knows the size of an entry, and need not divide. */
uint32
plh_live_samples_index(const PlhLiveSample *sample)
{
	return sample - (const PlhLiveSample *) samples.entry_region.base;
}

static inline uint32
index_of_context(const PlhWatchedContext *watched)
{
	return watched - (const PlhWatchedContext *) contexts.entry_region.base;
}

/* Define the tables, without memory yet.  "on_reset" must call plh_live_samples_drop_context. */
void
plh_live_samples_start(uint32 max_samples, MemoryContextCallbackFunction on_reset)
{
	max_samples = pg_nextpower2_32(max_samples);
	plh_pointer_table_init(&samples, sizeof(PlhLiveSample), max_samples);
	plh_pointer_table_init(&contexts, sizeof(PlhWatchedContext), max_samples);
	reset_callback = on_reset;
}

PlhWatchedContext *
plh_live_samples_find_watched(MemoryContext context)
{
	PlhWatchedContext *watched = plh_pointer_table_find(&contexts, context);

	if (watched != NULL)
		plh_live_samples_last_watched = watched;
	return watched;
}

/*
 * Returns what is known of a context whose newest callback is not ours, or NULL: ours may be gone.
 * A palloc in a context that was deleted, which is an error of its caller, has us watch what is no
 * context any more; the server then makes a new one of the same place, which has no callback, and
 * what was sampled before is not in it.
 */
PlhWatchedContext *
plh_live_samples_still_watched(PlhWatchedContext *watched, MemoryContext context)
{
	for (MemoryContextCallback *callback = context->reset_cbs; callback != NULL;
		 callback = callback->next)
	{
		if (callback == &watched->callback)
			return watched;
	}
	plh_live_samples_drop_context(watched);
	return NULL;
}

/* Watch a context until it is reset or deleted.  Returns NULL if there is no room. */
PlhWatchedContext *
plh_live_samples_watch(MemoryContext context, PlhLifetime lifetime)
{
	PlhWatchedContext *watched;

	Assert(plh_guard_held && CritSectionCount == 0);
	watched = plh_pointer_table_insert(&contexts, context);
	if (watched == NULL)
		return NULL;
	watched->entry.user = PLH_NO_ENTRY;
	watched->name = 0;
	plh_lifetime_note(&watched->lifetime, context, lifetime);
	watched->callback.func = reset_callback;
	watched->callback.arg = watched;
	MemoryContextRegisterResetCallback(context, &watched->callback);
	plh_live_samples_last_watched = watched;
	return watched;
}

/* Returns NULL if there is no room.  The caller counts the sample, and notes when it was born. */
PlhLiveSample *
plh_live_samples_insert(PlhWatchedContext *watched, const void *pointer,
						Size size, PlhDraw draw, uint32 site)
{
	PlhLiveSample *sample;
	uint32		index;

	Assert(plh_guard_held && draw.interval_bytes != 0);
	Assert(plh_pointer_table_find(&contexts, watched->entry.pointer) == watched);
	StaticAssertStmt(sizeof(PlhLiveSample) == 40,
					 "each byte of a live sample is there a million times");
	if (unlikely(size >> PLH_SAMPLE_SIZE_BITS != 0) ||
		(!PLH_MARKS_CHUNKS && !plh_sample_filter_start()) ||
		(sample = plh_pointer_table_insert(&samples, pointer)) == NULL)
		return NULL;

	index = plh_live_samples_index(sample);
	sample->entry.user = site;
	sample->size = size;
	sample->draw = draw;
	sample->context = index_of_context(watched);
	sample->previous_in_context = PLH_NO_ENTRY;
	sample->next_in_context = watched->entry.user;
	if (sample->next_in_context != PLH_NO_ENTRY)
	{
		Assert(sample_at(sample->next_in_context)->previous_in_context == PLH_NO_ENTRY);
		sample_at(sample->next_in_context)->previous_in_context = index;
	}
	watched->entry.user = index;

	if (!PLH_MARKS_CHUNKS)
		plh_sample_filter_add(pointer);
	return sample;
}

/* Remove a sample, whose chunk is gone, and subtract it from the counters. */
static void
remove_sample(PlhLiveSample *sample)
{
	Assert(PLH_MARKS_CHUNKS || plh_sample_filter_has(sample->entry.pointer));
	plh_profile_counters_subtract(sample->entry.user, sample->size, sample->draw, sample->tick);
	plh_otel_memory_freed(sample->entry.pointer);
	if (unlikely(plh_plan_nodes_are_watched))
		plh_plan_nodes_subtract_chunk(plh_live_samples_index(sample), sample->size, sample->draw);
	if (!PLH_MARKS_CHUNKS)
		plh_sample_filter_remove(sample->entry.pointer);
	plh_pointer_table_remove(&samples, sample);
}

/* Asserts that a sample is in its context's list. */
static inline void
assert_linked(PlhLiveSample *sample)
{
#ifdef USE_ASSERT_CHECKING
	uint32		index = plh_live_samples_index(sample);
	PlhWatchedContext *watched = plh_pointer_table_entry(&contexts, sample->context);

	Assert(sample->entry.pointer != NULL && watched->entry.pointer != NULL);
	Assert(sample->next_in_context == PLH_NO_ENTRY ||
		   sample_at(sample->next_in_context)->previous_in_context == index);
	if (sample->previous_in_context == PLH_NO_ENTRY)
		Assert(watched->entry.user == index);
	else
		Assert(sample_at(sample->previous_in_context)->next_in_context == index);
#endif
}

/* Take a sample out of its context's list. */
static void
unlink_sample(PlhLiveSample *sample)
{
	assert_linked(sample);
	if (sample->next_in_context != PLH_NO_ENTRY)
		sample_at(sample->next_in_context)->previous_in_context = sample->previous_in_context;
	if (sample->previous_in_context != PLH_NO_ENTRY)
		sample_at(sample->previous_in_context)->next_in_context = sample->next_in_context;
	else
	{
		PlhWatchedContext *watched = plh_pointer_table_entry(&contexts, sample->context);

		watched->entry.user = sample->next_in_context;
	}
}

/* A chunk, if it is sampled, is of that place of the plan that is watched. */
void
plh_live_samples_give(const void *pointer, uint32 place)
{
	bool		was_held = plh_guard_take();
	const PlhLiveSample *sample = plh_pointer_table_find(&samples, pointer);

	if (sample != NULL)
		plh_plan_nodes_move_chunk(plh_live_samples_index(sample), sample->entry.user,
								  sample->size, sample->draw, place);
	plh_guard_restore(was_held);
}

/* A chunk was freed, which may be no sample. */
void
plh_live_samples_remove(const void *pointer)
{
	PlhLiveSample *sample = plh_pointer_table_find(&samples, pointer);

	Assert(plh_guard_held);
	if (sample == NULL)
		return;

	unlink_sample(sample);
	remove_sample(sample);
}

/* The reset callback calls this with its argument.  The context is no longer watched then. */
void
plh_live_samples_drop_context(void *arg)
{
	PlhWatchedContext *watched = arg;
	uint32		index = watched->entry.user;

	Assert(plh_guard_held);
	Assert(plh_pointer_table_find(&contexts, watched->entry.pointer) == watched);
	while (index != PLH_NO_ENTRY)
	{
		PlhLiveSample *sample = sample_at(index);

		Assert(sample->context == index_of_context(watched));
		index = sample->next_in_context;
		remove_sample(sample);
	}
	plh_pointer_table_remove(&contexts, watched);
}

/* In a forked child, contexts that the parent watched have our callback still, and stay watched. */
PLH_EVERY_PROCESS void
plh_live_samples_forget(void)
{
	plh_pointer_table_discard(&samples);
	plh_sample_filter_clear();
	for (uint32 i = 0; i < contexts.high_entries; i++)
	{
		PlhWatchedContext *watched = plh_pointer_table_entry(&contexts, i);

		if (watched->entry.pointer == NULL)
			continue;
		watched->entry.user = PLH_NO_ENTRY;
		watched->name = 0;
	}
}

uint32
plh_live_samples_end(void)
{
	return samples.high_entries;
}

const PlhLiveSample *
plh_live_samples_at(uint32 number)
{
	return sample_at(number);
}

const PlhLiveSample *
plh_live_samples_find(const void *pointer)
{
	return plh_pointer_table_find(&samples, pointer);
}

const PlhRegion *
plh_live_samples_region(void)
{
	return &samples.entry_region;
}

const PlhRegion *
plh_live_samples_context_region(void)
{
	return &contexts.entry_region;
}
