/*
 * fake_sampler.h
 *	  What stands for pg_leakhunt.so in the tests: it is called by the preloaded
 *	  library, and keeps the samples that it is told of.
 *
 * It is told of blocks in any thread, and takes no lock.
 */
#ifndef FAKE_SAMPLER_H
#define FAKE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/block_filter.h"
#include "preload/malloc_hook.h"

/* What was seen since fake_watch. */
typedef struct Seen
{
	long		taken;
	long		recorded;
	long		freed;			/* samples, by free or by realloc */
	long		freed_elsewhere;	/* of these, by other threads */
	long		restored;		/* samples that realloc had to leave */
	long		recorded_twice; /* a block that was a sample: its free was
								 * missed */
	long		questions;		/* whether a block is a sample */
	long		nulls;			/* of these, about NULL */
	int64_t		net_bytes;		/* of samples recorded, less of those freed */

	/* the last of them */
	size_t		size;
	const void *caller;
	void	   *block;
} Seen;

/* The hook of the library; NULL if it was not preloaded. */
extern PlhMallocHook *fake_find_hook(void);

/* Sample this thread, an allocation after each "gap" bytes; 0: every one. */
extern void fake_start(uint64_t gap);

/* The same, for a child of another thread, which goes on. */
extern void fake_adopt(void);
extern void fake_stop(void);

extern void fake_watch(void);
extern Seen fake_seen(void);
extern uint64_t fake_other_bytes(void);

/* Whether this thread is in a function of ours that the library has called. */
extern bool fake_is_busy(void);

/* Let these functions take a number of rounds of a loop. */
extern void fake_dawdle(int rounds);

#endif							/* FAKE_SAMPLER_H */
