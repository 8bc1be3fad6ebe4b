/*
 * live_samples.h
 *	  The sampled chunks that are allocated now.
 *
 * These functions may be called inside palloc; they never palloc or throw.  Callers hold the guard,
 * which the callback given to plh_live_samples_start must take.
 */
#pragma once

#include "base/pointer_table.h"
#include "base/sampling.h"
#include "sampler/lifetime.h"

/* A larger chunk, of 256 GB, is no live sample. */
#define PLH_SAMPLE_SIZE_BITS 38

typedef struct PlhLiveSample
{
	PlhPointerEntry entry;		/* key: the chunk; user: its site's offset */
	uint64		size:PLH_SAMPLE_SIZE_BITS;	/* as requested, in bytes */
	uint64		tick:PLH_BIRTH_BITS;	/* of its birth, from the caller */
	PlhDraw		draw;			/* how it was sampled */
	uint32		context;		/* index of its watched context */
	uint32		next_in_context;	/* indexes of samples */
	uint32		previous_in_context;
} PlhLiveSample;

/* A context that has, or had, samples since its last reset. */
typedef struct PlhWatchedContext
{
	PlhPointerEntry entry;		/* key: the context; user: its first sample */
	uint32		name;			/* offset in the profile; 0: not there yet */
	PlhKnownLifetime lifetime;
	MemoryContextCallback callback;
} PlhWatchedContext;

extern void plh_live_samples_start(uint32 max_samples, MemoryContextCallbackFunction on_reset);
extern PlhWatchedContext *plh_live_samples_find_watched(MemoryContext context);
extern PlhWatchedContext *plh_live_samples_still_watched(PlhWatchedContext *watched,
														 MemoryContext context);
extern PlhWatchedContext *plh_live_samples_watch(MemoryContext context, PlhLifetime lifetime);
extern PlhLiveSample *plh_live_samples_insert(PlhWatchedContext *watched,
											  const void *pointer, Size size,
											  PlhDraw draw, uint32 site);
extern uint32 plh_live_samples_index(const PlhLiveSample *sample);
extern void plh_live_samples_give(const void *pointer, uint32 place);
extern void plh_live_samples_remove(const void *pointer);
extern void plh_live_samples_drop_context(void *arg);
extern void plh_live_samples_forget(void);

/*
 * All samples have numbers below this end, and one without a pointer is none.  The last one finds
 * the sample of a chunk; NULL: it is none.
 */
extern uint32 plh_live_samples_end(void);
extern const PlhLiveSample *plh_live_samples_at(uint32 number);
extern const PlhLiveSample *plh_live_samples_find(const void *pointer);

/* The memory in which the addresses of chunks stand. */
extern const PlhRegion *plh_live_samples_region(void);
extern const PlhRegion *plh_live_samples_context_region(void);

/* Most samples come from the same context as the one before. */
extern PlhWatchedContext *plh_live_samples_last_watched;

/* NULL if the context is not watched.  The result is valid until it is reset or deleted. */
static inline PlhWatchedContext *
plh_live_samples_watched(MemoryContext context)
{
	PlhWatchedContext *last = plh_live_samples_last_watched;

	/* an unused entry has no key, so that a stale one can't match */
	PlhWatchedContext *watched =
		likely(last != NULL && last->entry.pointer == context) ? last :
		plh_live_samples_find_watched(context);

	return likely(watched == NULL || context->reset_cbs == &watched->callback) ? watched :
		plh_live_samples_still_watched(watched, context);
}
