/*
 * live_samples.h
 *	  The sampled chunks that are allocated now.  They end by a free, or with
 *	  their memory context.
 *
 * These functions may be called inside palloc; they never palloc or throw.
 * Callers hold the guard, which the callback given to plh_live_samples_start
 * must take.
 */
#ifndef PLH_LIVE_SAMPLES_H
#define PLH_LIVE_SAMPLES_H

#include "base/pointer_table.h"
#include "base/sampling.h"

typedef struct PlhLiveSample
{
	PlhPointerEntry entry;		/* key: the chunk; user: its site's offset */
	Size		size;			/* as requested, in bytes */
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
	MemoryContextCallback callback;
} PlhWatchedContext;

extern void plh_live_samples_start(uint32 max_samples,
								   MemoryContextCallbackFunction on_reset);
extern PlhWatchedContext *plh_live_samples_watch(MemoryContext context);
extern bool plh_live_samples_insert(PlhWatchedContext *watched,
									const void *pointer, Size size,
									PlhDraw draw, uint32 site);
extern void plh_live_samples_remove(const void *pointer);
extern void plh_live_samples_drop_context(void *arg);
extern void plh_live_samples_forget(void);

#endif							/* PLH_LIVE_SAMPLES_H */
