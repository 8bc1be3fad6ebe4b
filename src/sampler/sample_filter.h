/*
 * sample_filter.h
 *	  Could this chunk be a sample?  Each free asks this where chunks can't be marked.
 *
 * The filter has a bit for each hash value of chunks.  The answer "no" is always right.
 *
 * These functions may be called inside palloc; they never palloc or throw, and are not reentrant.
 */
#pragma once

#include "preload/block_filter.h"

extern uint8 plh_sample_filter[PLH_FILTER_BYTES];

/* Most frees cost nothing but this test, which must stay a handful of instructions. */
static inline bool
plh_sample_filter_is_near(const void *pointer)
{
	return plh_filter_is_near(plh_sample_filter, pointer);
}

static inline bool
plh_sample_filter_has(const void *pointer)
{
	return plh_filter_has(plh_sample_filter, pointer);
}

extern bool plh_sample_filter_start(void);
extern void plh_sample_filter_add(const void *pointer);
extern void plh_sample_filter_remove(const void *pointer);
extern void plh_sample_filter_clear(void);
