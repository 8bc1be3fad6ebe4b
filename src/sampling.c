/*
 * sampling.c
 *	  The mathematics of sampling allocations by bytes: gaps, weights, errors.
 *
 * Runs inside palloc.
 *
 * An allocation of "size" bytes is sampled with p = 1 - exp(-size/interval)
 * and then stands for 1/p objects.  1/p is rounded to an integer at random,
 * up with a probability of its fraction: that keeps the estimate unbiased,
 * makes every sum exact, and lets a free subtract just what the allocation
 * added.  Interval 1 means "every allocation": p = 1 for all sizes.
 */
#include "postgres.h"

#include <math.h>

#include "sampling.h"

/* Two-sided 95% quantile of the normal distribution. */
#define Z95 1.959964

/*
 * Bytes until the next sample: the allocation that brings the number of
 * bytes allocated from now on to the gap or beyond is sampled.  Exponential
 * gaps have no memory, so that a gap may be thrown away and drawn anew at
 * any time (other interval, fork) without a bias.  0 at interval 1.
 */
int64
plh_sampling_gap(pg_prng_state *prng, uint32 interval_bytes)
{
	double		gap;

	if (interval_bytes <= 1)
		return 0;

	/* pg_prng_double is in [0,1), so the logarithm is finite */
	gap = -log1p(-pg_prng_double(prng)) * (double) interval_bytes;
	return (int64) ceil(gap);
}

/*
 * Number of objects that a sampled allocation of "size" bytes stands for, at
 * least 1.  It stands for size times that many bytes.
 */
uint32
plh_sampling_weight(pg_prng_state *prng, Size size, uint32 interval_bytes)
{
	double		weight;
	double		whole;

	if (interval_bytes <= 1 || size == 0)
		return 1;

	weight = -1.0 / expm1(-(double) size / (double) interval_bytes);
	whole = floor(weight);
	if (pg_prng_double(prng) < weight - whole)
		whole += 1.0;
	return whole >= (double) PG_UINT32_MAX ? PG_UINT32_MAX : (uint32) whole;
}

/*
 * The 95% error bound of an estimate of "bytes", from that many samples whose
 * variances add up to "variance"; 0 where every allocation was sampled.
 *
 * For few samples, z standard errors are too narrow.  This is the upper limit
 * of the score interval of a Poisson count k, z^2/2 + z sqrt(k + z^2/4), times
 * the bytes that a sample stands for; relative to the estimate it tends to
 * z/sqrt(k) for large k.
 */
double
plh_sampling_error_bytes(double variance, double bytes, int64 samples)
{
	double		sample_bytes;

	if (variance <= 0.0 || samples <= 0)
		return 0.0;

	sample_bytes = bytes / (double) samples;
	return Z95 * Z95 / 2.0 * sample_bytes +
		Z95 * sqrt(variance + Z95 * Z95 / 4.0 * sample_bytes * sample_bytes);
}
