/*
 * sample_filter.h
 *	  Could this chunk be a sample?  What each free asks before PostgreSQL 17,
 *	  where sampled chunks can't be marked.
 *
 * A bit for each hash value that a sampled chunk can have.  The answer "no" is
 * always right.
 *
 * Callable inside palloc; never pallocs or throws.  Not reentrant.
 */
#ifndef PLH_SAMPLE_FILTER_H
#define PLH_SAMPLE_FILTER_H

#include "base/pointer_table.h"

#define PLH_FILTER_BITS 15
extern uint64 plh_sample_filter[1 << (PLH_FILTER_BITS - 6)];

/*
 * All that a free of a chunk which is no sample costs, so it must stay a
 * handful of instructions.
 */
static inline bool
plh_sample_filter_has(const void *pointer)
{
	uint32		bit = plh_pointer_hash(pointer) >> (64 - PLH_FILTER_BITS);

	return (plh_sample_filter[bit / 64] >> (bit % 64)) & 1;
}

extern bool plh_sample_filter_start(void);
extern void plh_sample_filter_add(const void *pointer);
extern void plh_sample_filter_remove(const void *pointer);
extern void plh_sample_filter_clear(void);

#endif							/* PLH_SAMPLE_FILTER_H */
