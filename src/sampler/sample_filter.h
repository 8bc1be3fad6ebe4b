/*
 * sample_filter.h
 *	  Could this chunk be a sample?  Each free asks this before PostgreSQL 17,
 *	  where sampled chunks can't be marked.
 *
 * The filter has a bit for each hash value of chunks.  The answer "no" is
 * always right.
 *
 * These functions may be called inside palloc; they never palloc or throw, and
 * are not reentrant.
 */
#ifndef PLH_SAMPLE_FILTER_H
#define PLH_SAMPLE_FILTER_H

#include "base/pointer_table.h"

#define PLH_FILTER_BITS 15
extern uint64 plh_sample_filter[1 << (PLH_FILTER_BITS - 6)];

/*
 * Could a chunk be a sample?  A free of a chunk that is no sample costs
 * nothing but this test, which must stay a handful of instructions.
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
