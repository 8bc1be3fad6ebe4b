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
extern double plh_sampling_variance(Size size, uint32 weight);
extern double plh_sampling_error_bytes(double variance, double bytes);

#endif							/* PLH_SAMPLING_H */
