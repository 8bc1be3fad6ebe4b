/*
 * sampling.h
 *	  The mathematics of sampling allocations by bytes: gaps, weights, errors.
 *
 * Pure functions of their arguments: callable inside palloc, from readers
 * and from tests.  src/README, "The estimates", derives the formulas.
 */
#ifndef PLH_SAMPLING_H
#define PLH_SAMPLING_H

#include "common/pg_prng.h"

extern int64 plh_sampling_gap(pg_prng_state *prng, uint32 interval_bytes);
extern uint32 plh_sampling_weight(pg_prng_state *prng, Size size,
								  uint32 interval_bytes);
extern double plh_sampling_error_bytes(double variance, double bytes,
									   int64 samples);

/*
 * What one sample adds to the variance of the estimated bytes of its site.
 * With an integer weight w of expectation 1/p, w(w-1) is an unbiased estimate
 * of (1-p)/p^2 plus the variance of the rounding.
 */
static inline double
plh_sampling_variance(Size size, uint32 weight)
{
	if (weight == 1)
		return 0.0;
	return (double) size * (double) size * (double) weight *
		((double) weight - 1.0);
}

#endif							/* PLH_SAMPLING_H */
