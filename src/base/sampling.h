/*
 * sampling.h
 *	  The mathematics of sampling allocations by bytes: gaps, weights, errors.
 *
 * These are pure functions of their arguments, which code inside palloc, readers and tests may
 * call.  src/sampler/README, "The estimates", derives the formulas.
 */
#pragma once

#include "common/pg_prng.h"

/*
 * A draw tells how a sample was taken.  Together with the size of the chunk it tells how many
 * chunks the sample stands for, now and when the chunk is freed.
 */
typedef struct PlhDraw
{
	uint32		interval_bytes:31;	/* 1: every allocation is a sample */
	uint32		rounded_up:1;	/* 1: the weight was rounded up */
} PlhDraw;

/*
 * How many chunks a sample stands for, at least 1, of its size each; and the variance that it adds
 * to the estimated bytes of its site, which is 0 only if the allocation was certain to be sampled.
 */
typedef struct PlhSampleValue
{
	uint32		weight;
	double		variance;		/* in bytes squared */
} PlhSampleValue;

/*
 * Where the interval is PLH_COARSE_FROM or longer, memory that ends with a query or transaction is
 * sampled at PLH_COARSE_FACTOR times that interval, until a process holds PLH_COARSE_BYTES of it.
 * A busy session allocates little else, and nobody looks for what is gone with the statement,
 * unless it was large.
 */
#define PLH_COARSE_FROM (256 * 1024)
#define PLH_COARSE_FACTOR 8
#define PLH_COARSE_BYTES ((int64) 8 * 1024 * 1024)

extern int64 plh_sampling_gap(pg_prng_state *prng, uint32 interval_bytes);
extern bool plh_sampling_keeps(pg_prng_state *prng, Size size,
							   uint32 interval_bytes, uint32 longer_bytes);
extern PlhDraw plh_sampling_draw(pg_prng_state *prng, Size size, uint32 interval_bytes);
extern PlhSampleValue plh_sampling_value_of(Size size, PlhDraw draw);
extern double plh_sampling_error_bytes(double variance, double bytes, int64 samples);
extern double plh_sampling_missed_bytes(uint32 interval_bytes);
extern int64 plh_sampling_most_error_bytes(int64 bytes, uint32 interval_bytes);

/*
 * Returns the interval for memory that ends with a query or transaction, where all other memory is
 * sampled at "interval_bytes" and the process holds "live_bytes" of the former.
 */
static inline uint32
plh_sampling_coarse_interval(uint32 interval_bytes, int64 live_bytes)
{
	return interval_bytes < PLH_COARSE_FROM || live_bytes >= PLH_COARSE_BYTES ?
		interval_bytes : Min((uint64) interval_bytes * PLH_COARSE_FACTOR, PG_INT32_MAX);
}

static inline PlhSampleValue
plh_sampling_value(Size size, PlhDraw draw)
{
	Assert(draw.interval_bytes != 0);
	return draw.interval_bytes <= 1 ? (PlhSampleValue)
	{
		.weight = 1
	} : plh_sampling_value_of(size, draw);
}
