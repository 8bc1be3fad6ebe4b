/*
 * proof_samples.c
 *	  The live samples of the process, of chunks and of malloc's blocks, as one set.
 *
 * Most chunks are no samples: a filter says so without a search.
 */
#include "postgres.h"

#include "base/fork.h"
#include "heap/heap.h"
#include "proof/proof_samples.h"
#include "sampler/live_samples.h"
#include "sampler/malloc_samples.h"

/* One bit for each hash of an address. */
#define FILTER_BITS (1 << 23)

/* Only the child that proves has it. */
static PLH_SURVIVES_FORK uint8 *filter;

static inline uint32
bit_of(uintptr_t address)
{
	return plh_pointer_hash((void *) address) >> 41;
}

bool
plh_proof_samples_start(void)
{
	filter = plh_heap_reserve(FILTER_BITS / 8);
	return filter != NULL;
}

void
plh_proof_samples_note(const PlhProofSample *sample)
{
	uint32		bit = bit_of(sample->address);

	filter[bit / 8] |= 1 << bit % 8;
}

static PlhProofSample
sampled_chunk(const PlhLiveSample *sample)
{
	return (PlhProofSample)
	{
		(uintptr_t) sample->entry.pointer, sample->size, sample->draw, sample->entry.user
	};
}

static PlhProofSample
sampled_block(uintptr_t block, const PlhMallocSampled *sample)
{
	return (PlhProofSample)
	{
		block, sample->size, sample->draw, sample->site
	};
}

bool
plh_proof_samples_next(uint32 *position, PlhProofSample *sample)
{
	while (*position < plh_live_samples_end())
	{
		const PlhLiveSample *chunk = plh_live_samples_at((*position)++);

		if (chunk->entry.pointer != NULL)
		{
			*sample = sampled_chunk(chunk);
			return true;
		}
	}
	while (*position - plh_live_samples_end() < plh_malloc_samples_last())
	{
		uint32		number = ++(*position) - plh_live_samples_end();
		uintptr_t	address;
		const PlhMallocSampled *block = plh_malloc_samples_at(number, &address);

		/* the lowest bit is that of one which is being freed */
		if (address != 0 && address % 2 == 0)
		{
			*sample = sampled_block(address, block);
			return true;
		}
	}
	return false;
}

bool
plh_proof_samples_find(uintptr_t address, PlhProofSample *sample)
{
	uint32		bit = bit_of(address);
	const PlhLiveSample *chunk;
	const PlhMallocSampled *block;

	if (!(filter[bit / 8] >> bit % 8 & 1))
		return false;
	chunk = plh_live_samples_find((void *) address);
	block = chunk != NULL ? NULL : plh_malloc_samples_find((void *) address);
	if (chunk != NULL)
		*sample = sampled_chunk(chunk);
	else if (block != NULL)
		*sample = sampled_block(address, block);
	return chunk != NULL || block != NULL;
}
