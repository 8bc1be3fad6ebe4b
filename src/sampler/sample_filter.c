/*
 * sample_filter.c
 *	  Could this chunk be a sample?  Each free asks this where chunks can't be marked.
 *
 * This code runs inside palloc.
 *
 * Invariant: a bit is set if and only if there is a sample that has it, for which each bit has a
 * count.  A bit that stayed set would cost every later free of a chunk at that place a look-up, and
 * allocators like to hand out the same place again.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "sampler/sample_filter.h"

#define COUNTS_BYTES (sizeof(uint32) << PLH_FILTER_BITS)

/* plh_sample_filter_clear empties it, and gives the memory of the counts back. */
PLH_SURVIVES_FORK PLH_LARGE uint8 plh_sample_filter[PLH_FILTER_BYTES]
			__attribute__((aligned(sizeof(uint64))));

/* Each bit has a uint32 here, the number of samples that have the bit. */
static PLH_SURVIVES_FORK PlhRegion count_region;
static PLH_SURVIVES_FORK uint32 *bit_counts;	/* NULL: no memory yet */

/* Get memory for the counts, if there is none yet.  Without it nothing may be added. */
bool
plh_sample_filter_start(void)
{
	if (likely(bit_counts != NULL))
		return true;
	if (!plh_private_memory_reserve(&count_region, COUNTS_BYTES) ||
		!plh_private_memory_commit(&count_region, COUNTS_BYTES))
		return false;
	bit_counts = (uint32 *) count_region.base;
	return true;
}

void
plh_sample_filter_add(const void *pointer)
{
	uint32		bit = plh_filter_bit(pointer);

	Assert(bit_counts != NULL);
	Assert(plh_sample_filter_has(pointer) == (bit_counts[bit] > 0));
	if (bit_counts[bit]++ == 0)
		plh_sample_filter[bit / 8] |= 1 << bit % 8;
}

void
plh_sample_filter_remove(const void *pointer)
{
	uint32		bit = plh_filter_bit(pointer);

	Assert(bit_counts[bit] > 0);
	Assert(plh_sample_filter_has(pointer));
	if (--bit_counts[bit] == 0)
		plh_sample_filter[bit / 8] &= ~(1 << bit % 8);
}

/* Remove all chunks, and give the memory back. */
PLH_EVERY_PROCESS void
plh_sample_filter_clear(void)
{
	if (count_region.base == NULL)
		return;					/* nothing was ever added */
	plh_private_memory_discard(&count_region);
	bit_counts = NULL;

	/* a forked child need not write to what is 0: a page fault each */
	for (int i = 0; i < PLH_FILTER_BYTES / sizeof(uint64); i++)
	{
		uint64	   *word = (uint64 *) plh_sample_filter + i;

		if (*word != 0)
			*word = 0;
	}
}
