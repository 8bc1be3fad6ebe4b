/*
 * sampling.h
 *	  The mathematics of sampling allocations by bytes: gaps, weights, errors.
 *
 * These are pure functions of their arguments, which code inside palloc,
 * readers and tests may call.  src/README, "The estimates", derives the
 * formulas.
 */
#ifndef PLH_SAMPLING_H
#define PLH_SAMPLING_H

#include "common/pg_prng.h"

/*
 * A draw tells how a sample was taken.  Together with the size of the chunk it
 * tells how many chunks the sample stands for, now and when the chunk is
 * freed.
 */
typedef struct PlhDraw
{
	uint32		interval_bytes:31;	/* 1: every allocation is a sample */
	uint32		rounded_up:1;	/* 1: the weight was rounded up */
} PlhDraw;

extern int64 plh_sampling_gap(pg_prng_state *prng, uint32 interval_bytes);
extern PlhDraw plh_sampling_draw(pg_prng_state *prng, Size size,
								 uint32 interval_bytes);
extern uint32 plh_sampling_weight_of(Size size, PlhDraw draw);
extern double plh_sampling_variance_of(Size size, PlhDraw draw);
extern double plh_sampling_error_bytes(double variance, double bytes,
									   int64 samples);

/*
 * Returns how many chunks a sample stands for, at least 1.  The sample stands
 * for size times that many bytes.
 */
static inline uint32
plh_sampling_weight(Size size, PlhDraw draw)
{
	Assert(draw.interval_bytes != 0);
	return draw.interval_bytes <= 1 ? 1 : plh_sampling_weight_of(size, draw);
}

/*
 * Returns the variance that one sample adds to the estimated bytes of its
 * site.  It is 0 only if the allocation was certain to be sampled.
 */
static inline double
plh_sampling_variance(Size size, PlhDraw draw)
{
	Assert(draw.interval_bytes != 0);
	return draw.interval_bytes <= 1 ? 0.0 :
		plh_sampling_variance_of(size, draw);
}

#endif							/* PLH_SAMPLING_H */
