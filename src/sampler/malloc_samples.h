/*
 * malloc_samples.h
 *	  The sampled blocks of malloc that are allocated now.
 *
 * One thread, the owner of the profile, adds samples and removes them.  A sampled block may be
 * freed by any thread: another one leaves the sample to the owner, in passing and without a lock,
 * and the owner removes it the next time that it comes by.
 *
 * These functions may be called inside malloc and free, in signal handlers too; they never
 * allocate, throw or lock.
 */
#pragma once

#include "base/private_memory.h"
#include "base/sampling.h"

/* A number that stands for no sample. */
#define PLH_NO_MALLOC_SAMPLE 0

/* What was recorded of a sampled block. */
typedef struct PlhMallocSampled
{
	Size		size;			/* as requested, in bytes */
	PlhDraw		draw;			/* how it was sampled */
	uint32		site;			/* its offset in the profile */
	uint32		tick;			/* of its birth, from the caller */
	uint32		part;			/* of a plan (plan_nodes.h); 0: of none */
} PlhMallocSampled;

/* The owner's, under the guard. */
extern void plh_malloc_samples_start(uint32 max_samples, uint8 *filter);
extern PlhMallocSampled *plh_malloc_samples_insert(const void *block,
												   const PlhMallocSampled *sampled);
extern const void *plh_malloc_samples_block(uint32 number);
extern PlhMallocSampled plh_malloc_samples_remove(uint32 number);
extern uint32 plh_malloc_samples_next_left(void);
extern void plh_malloc_samples_forget(void);

/* Any thread's, at any time.  Whoever claims a sample removes it, leaves it or gives it back. */
extern uint32 plh_malloc_samples_claim(const void *block);
extern void plh_malloc_samples_leave(uint32 number);
extern void plh_malloc_samples_unclaim(uint32 number);

/*
 * For whoever has a copy of this process: samples have numbers from 1 to this, and one without a
 * block is none.  The last one finds the sample of a block; NULL: it is none.
 */
extern uint32 plh_malloc_samples_last(void);
extern const PlhMallocSampled *plh_malloc_samples_at(uint32 number, uintptr_t *block);
extern const PlhMallocSampled *plh_malloc_samples_find(const void *block);

/* The memory in which the addresses of blocks stand. */
extern const PlhRegion *plh_malloc_samples_region(void);
