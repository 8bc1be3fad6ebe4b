/*
 * malloc_samples.c
 *	  The sampled blocks of malloc that are allocated now.
 *
 * This code runs inside malloc and free.
 *
 * The owner keeps the samples in chains, one for each bit of the filter that frees look into: the
 * bit is set if and only if the chain is not empty.  Other threads follow the chains while the
 * owner changes them, and there is no lock that a fork or a signal handler could find held:
 *
 * - A thread that looks for a block owns it, and frees it later.  So a sample of it
 * 	 stays in its chain meanwhile, and can be found.
 * - The way there may lead over a sample that the owner is removing.  It leads on
 * 	 to another one, or, if that sample has been used again, into another chain,
 * 	 where the block is not.  The owner counts removals: a thread that has not found a
 * 	 block, while the owner removed something, looks again.
 * - A sample is of its block until the thread that frees the block claims it, by the
 * 	 lowest bit of the address, in one step with finding out that nobody else did.
 * 	 Addresses of blocks are even.
 * - Claimed by another thread, it goes on a list that threads only add to and the
 * 	 owner only takes as a whole.  As that happens before the block is freed, it is
 * 	 on the list before the block can be handed out again.
 *
 * Variables that threads share are read and written by the compiler's atomic built-ins, which its
 * tools for finding races know.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "preload/block_filter.h"
#include "sampler/malloc_samples.h"

#define CHAINS (1 << PLH_FILTER_BITS)

/* Another thread looks this often at most: between two looks the owner has removed a sample. */
#define MAX_LOOKS 1000

#define CLAIMED ((uintptr_t) 1)

/* Samples have numbers from 1 on, so that 0 is none. */
typedef struct MallocSample
{
	uintptr_t	block;			/* shared; 0 in an unused one */
	uint32		next;			/* shared; in its chain, or unused ones */
	uint32		next_left;		/* written by the thread that claimed it */
	PlhMallocSampled sampled;	/* the owner's */
} MallocSample;

static PLH_SET_AT_LOAD uint32 max_samples;
static PLH_SET_AT_LOAD uint8 *filter;	/* shared; emptied in a forked child */

/* plh_malloc_samples_forget gives their memory back. */
static PLH_SURVIVES_FORK PlhRegion sample_region;
static PLH_SURVIVES_FORK PlhRegion chain_region;	/* first of chains; shared */

static struct
{
	uint32		high_samples;	/* ever used: all numbers are up to this */
	uint32		unused_samples; /* the first of those that were used */
	uint32		removals;		/* shared */
	uint32		left_samples;	/* shared; the first on the list */
	uint32		taken_samples;	/* the first of those taken from it */
}			state;

#define READ(variable) __atomic_load_n(&(variable), __ATOMIC_ACQUIRE)
#define WRITE(variable, value) __atomic_store_n(&(variable), value, __ATOMIC_RELEASE)

static MallocSample *
sample_at(uint32 number)
{
	return (MallocSample *) sample_region.base + (number - 1);
}

static uint32 *
chain_of(const void *block)
{
	return (uint32 *) chain_region.base + plh_filter_bit(block);
}

/* Let the filter say whether the block's chain has samples. */
static void
note_in_filter(const void *block, bool has_samples)
{
	uint32		bit = plh_filter_bit(block);
	uint8		bits = filter[bit / 8];
	uint8		mask = 1 << (bit % 8);

	WRITE(filter[bit / 8], has_samples ? bits | mask : bits & ~mask);
}

/* No memory is taken yet. */
void
plh_malloc_samples_start(uint32 max, uint8 *filter_bytes)
{
	max_samples = max;
	filter = filter_bytes;
}

static bool
reserve_memory(void)
{
	return plh_private_memory_reserve(&sample_region, (Size) max_samples * sizeof(MallocSample)) &&
		plh_private_memory_reserve(&chain_region, sizeof(uint32) * CHAINS) &&
		plh_private_memory_commit(&chain_region, sizeof(uint32) * CHAINS);
}

/* Returns an unused sample, or 0 if there is no room for one. */
static uint32
unused_sample(void)
{
	uint32		number = state.unused_samples;

	if (number != PLH_NO_MALLOC_SAMPLE)
	{
		state.unused_samples = sample_at(number)->next;
		return number;
	}
	if (state.high_samples >= max_samples || !reserve_memory() ||
		!plh_private_memory_commit(&sample_region,
								   ((Size) state.high_samples + 1) * sizeof(MallocSample)))
		return PLH_NO_MALLOC_SAMPLE;
	return ++state.high_samples;
}

/*
 * Returns what is recorded of the sample, or NULL if there is no room.  Samples of blocks that were
 * freed are reaped before, so that there is none of this one.
 */
PlhMallocSampled *
plh_malloc_samples_insert(const void *block, const PlhMallocSampled *sampled)
{
	uint32		number = unused_sample();
	MallocSample *sample;

	Assert(plh_guard_held);
	Assert(((uintptr_t) block & CLAIMED) == 0);
	if (number == PLH_NO_MALLOC_SAMPLE)
		return NULL;
	sample = sample_at(number);
	sample->sampled = *sampled;
	WRITE(sample->block, (uintptr_t) block);
	WRITE(sample->next, READ(*chain_of(block)));
	WRITE(*chain_of(block), number);
	note_in_filter(block, true);
	return &sample->sampled;
}

/* Look for a sample of a block once; 0 if none was met. */
static uint32
look_for(const void *block)
{
	uint32		number = READ(*chain_of(block));

	/* a chain that changes all the time might go on forever */
	for (uint32 steps = 0; number != PLH_NO_MALLOC_SAMPLE && steps < max_samples; steps++)
	{
		MallocSample *sample = sample_at(number);

		if (READ(sample->block) == (uintptr_t) block)
			return number;
		number = READ(sample->next);
	}
	return PLH_NO_MALLOC_SAMPLE;
}

/* Returns the sample of a block, or 0. */
static uint32
find(const void *block)
{
	for (int looks = 0; looks < MAX_LOOKS; looks++)
	{
		uint32		removals_before = READ(state.removals);
		uint32		number = look_for(block);

		if (number != PLH_NO_MALLOC_SAMPLE || READ(state.removals) == removals_before)
			return number;
	}
	return PLH_NO_MALLOC_SAMPLE;
}

/* The block is about to be freed.  Returns 0 if somebody else has claimed its sample, too. */
uint32
plh_malloc_samples_claim(const void *block)
{
	uintptr_t	unclaimed = (uintptr_t) block;
	uint32		number;

	/* a thread that sees the bit of a chain sees the chain */
	if (READ(filter[plh_filter_bit(block) / 8]) == 0)
		return PLH_NO_MALLOC_SAMPLE;
	number = find(block);
	if (number == PLH_NO_MALLOC_SAMPLE ||
		!__atomic_compare_exchange_n(&sample_at(number)->block, &unclaimed,
									 unclaimed | CLAIMED, false,
									 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return PLH_NO_MALLOC_SAMPLE;
	return number;
}

/* The block of the claimed sample was not freed. */
void
plh_malloc_samples_unclaim(uint32 number)
{
	MallocSample *sample = sample_at(number);

	WRITE(sample->block, READ(sample->block) & ~CLAIMED);
}

/* Leave a claimed sample to the owner, to be removed when it reaps. */
void
plh_malloc_samples_leave(uint32 number)
{
	uint32		first = __atomic_load_n(&state.left_samples, __ATOMIC_RELAXED);

	do
		sample_at(number)->next_left = first;
	while (!__atomic_compare_exchange_n(&state.left_samples, &first, number, false,
										__ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/*
 * Take a sample out of its chain.  Removals are counted when the chain does not lead there any
 * more, and the sample still leads on: a thread that comes to it later, and is led astray, has
 * begun to look before.
 */
static void
unlink_sample(uint32 number, const void *block)
{
	uint32	   *link = chain_of(block);

	while (*link != number)
	{
		Assert(*link != PLH_NO_MALLOC_SAMPLE);
		link = &sample_at(*link)->next;
	}
	WRITE(*link, sample_at(number)->next);
	WRITE(state.removals, state.removals + 1);
	if (READ(*chain_of(block)) == PLH_NO_MALLOC_SAMPLE)
		note_in_filter(block, false);
}

/* Returns the block of a claimed sample. */
const void *
plh_malloc_samples_block(uint32 number)
{
	const MallocSample *sample = sample_at(number);

	Assert((sample->block & CLAIMED) != 0);
	return (const void *) (sample->block & ~CLAIMED);
}

PlhMallocSampled
plh_malloc_samples_remove(uint32 number)
{
	MallocSample *sample = sample_at(number);
	PlhMallocSampled sampled = sample->sampled;

	Assert(plh_guard_held);
	unlink_sample(number, plh_malloc_samples_block(number));
	WRITE(sample->block, 0);
	WRITE(sample->next, state.unused_samples);
	state.unused_samples = number;
	return sampled;
}

/* Returns a sample that was left to the owner; 0 if there is none. */
PLH_EVERY_PROCESS uint32
plh_malloc_samples_next_left(void)
{
	uint32		number = state.taken_samples;

	Assert(plh_guard_held);
	if (number == PLH_NO_MALLOC_SAMPLE &&
		__atomic_load_n(&state.left_samples, __ATOMIC_RELAXED) != PLH_NO_MALLOC_SAMPLE)
		number = __atomic_exchange_n(&state.left_samples, PLH_NO_MALLOC_SAMPLE, __ATOMIC_ACQUIRE);
	if (number != PLH_NO_MALLOC_SAMPLE)
		state.taken_samples = sample_at(number)->next_left;
	return number;
}

/* Forget all samples in a forked child, which has one thread: they are the parent's. */
void
plh_malloc_samples_forget(void)
{
	if (sample_region.base == NULL)
		return;
	plh_private_memory_discard(&sample_region);
	plh_private_memory_discard(&chain_region);
	memset(filter, 0, PLH_FILTER_BYTES);
	memset(&state, 0, sizeof(state));
}

uint32
plh_malloc_samples_last(void)
{
	return state.high_samples;
}

const PlhMallocSampled *
plh_malloc_samples_at(uint32 number, uintptr_t *block)
{
	const MallocSample *sample = sample_at(number);

	*block = sample->block;
	return &sample->sampled;
}

const PlhMallocSampled *
plh_malloc_samples_find(const void *block)
{
	uint32		number = chain_region.base == NULL ? PLH_NO_MALLOC_SAMPLE : *chain_of(block);

	for (uint32 steps = 0; number != PLH_NO_MALLOC_SAMPLE && steps < state.high_samples; steps++)
	{
		const MallocSample *sample = sample_at(number);

		if (sample->block == (uintptr_t) block)
			return &sample->sampled;
		number = sample->next;
	}
	return NULL;
}

const PlhRegion *
plh_malloc_samples_region(void)
{
	return &sample_region;
}
