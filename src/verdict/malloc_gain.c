/*
 * malloc_gain.c
 *	  How much malloc has given out in this session since some time, other than
 *	  to memory contexts.
 *
 * Both sums are exact, but their difference is not: blocks of contexts take more
 * of malloc than the contexts know.
 */
#include "postgres.h"

#include "profile/profile_file.h"
#include "profile/profile_layout.h"
#include "sampler/census.h"
#include "verdict/malloc_gain.h"

/*
 * A block of a memory context takes at most one part in so many more of malloc:
 * 4 kB of 128 kB where malloc maps it, and less elsewhere.
 */
#define OVERHEAD_PART 32

/* A chunk of malloc has at least twice as many bytes. */
#define LEAST_BYTES 16

/* A chunk takes so many bytes of malloc more than was asked for, at most. */
#define CHUNK_BYTES 32

/*
 * Note what is in use now.
 */
PlhMallocMark
plh_malloc_gain_mark(void)
{
	PlhMallocMark mark;

	plh_census_count_contexts();
	plh_census_count_malloc();
	mark.malloc_bytes = plh_profile->malloc_bytes;
	mark.context_bytes = plh_profile->context_bytes;
	return mark;
}

/*
 * The bytes that malloc has given out since, and not got back, by each of so many
 * iterations; what contexts have, or may have, is not counted.
 */
int64
plh_malloc_gain_since(const PlhMallocMark *mark, int iterations)
{
	PlhMallocMark now = plh_malloc_gain_mark();
	int64		contexts = now.context_bytes - mark->context_bytes;
	int64		gained = now.malloc_bytes - mark->malloc_bytes - contexts -
		llabs(contexts) / OVERHEAD_PART;

	if (mark->malloc_bytes < 0 || now.malloc_bytes < 0 ||
		gained < (int64) iterations * LEAST_BYTES)
		return 0;
	return gained / iterations;
}

/*
 * What is left of such a gain without so many chunks of so many bytes in each
 * iteration, whose call sites are known; 0 where it is not sure that there is any.
 */
int64
plh_malloc_gain_beside(int64 gained, double bytes, double chunks)
{
	double		rest = (double) gained - bytes - bytes / OVERHEAD_PART -
		chunks * CHUNK_BYTES;

	return rest < LEAST_BYTES ? 0 : (int64) rest;
}
