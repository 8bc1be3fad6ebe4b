/*
 * sampling.c
 *	  The mathematics of sampling allocations by bytes: gaps, weights, errors.
 *
 * An allocation of "size" bytes is sampled with p = 1 - exp(-size/interval) and then stands for 1/p
 * chunks.  1/p is rounded to an integer at random, up with the probability of its fraction:
 * rounding keeps the estimate unbiased, makes every sum exact, and lets a free subtract just the
 * numbers that the allocation added.  Interval 1 means "every allocation": p = 1 for all sizes.
 */
#include "postgres.h"

#include <math.h>

#include "base/fork.h"
#include "base/sampling.h"

/* This is the two-sided 95% quantile of the normal distribution. */
#define Z95 1.959964

/* No error bound is larger. */
#define MOST_ERROR ((double) (PG_INT64_MAX / 16))

/* A random number in [0,1).  pg_prng_double of 15 takes five times as long, in ldexp. */
static inline double
draw_fraction(pg_prng_state *prng)
{
	return (double) (pg_prng_uint64(prng) >> 11) / (UINT64CONST(1) << 53);
}

/*
 * Returns the gap to the next sample in bytes, which is 0 at interval 1.  The allocation that
 * brings the number of bytes allocated from now on to the gap or beyond is sampled.  Exponential
 * gaps have no memory, so that a gap may be thrown away and drawn anew at any time (other interval,
 * fork) without a bias.
 */
int64
plh_sampling_gap(pg_prng_state *prng, uint32 interval_bytes)
{
	double		gap;

	if (interval_bytes <= 1)
		return 0;

	/*
	 * The argument is above -1, so that the logarithm is finite.  log() would
	 * be faster, but each new process would touch its tables, which are six
	 * pages.
	 */
	gap = -log1p(-draw_fraction(prng)) * (double) interval_bytes;
	return (int64) ceil(gap);
}

/*
 * Returns 1/p, the number of chunks that a sampled allocation stands for.  The last result is kept:
 * a sample's weight is drawn and noted, and many are freed at once.
 */
static double
exact_weight(Size size, uint32 interval_bytes)
{
	static PLH_SAME_IN_CHILD Size last_size;
	static PLH_SAME_IN_CHILD uint32 last_interval;
	static PLH_SAME_IN_CHILD double last_weight = 1.0;

	if (size != last_size || interval_bytes != last_interval)
	{
		last_size = size;
		last_interval = interval_bytes;
		last_weight = interval_bytes <= 1 || size == 0 ? 1.0 :
			-1.0 / expm1(-(double) size / (double) interval_bytes);
	}
	return last_weight;
}

/*
 * Is an allocation of "size" bytes that was sampled at one interval a sample at a longer one, too?
 * Of those that the former takes with p and the latter with q, it is with q/p.
 */
bool
plh_sampling_keeps(pg_prng_state *prng, Size size, uint32 interval_bytes, uint32 longer_bytes)
{
	double		weight = exact_weight(size, interval_bytes);

	Assert(longer_bytes >= interval_bytes);
	return draw_fraction(prng) * exact_weight(size, longer_bytes) < weight;
}

/* Draw how the weight of a sampled allocation of "size" bytes is rounded. */
PlhDraw
plh_sampling_draw(pg_prng_state *prng, Size size, uint32 interval_bytes)
{
	PlhDraw		draw = {.interval_bytes = interval_bytes};

	/* 0 means that nothing is sampled; an interval has 31 bits */
	Assert(interval_bytes > 0 && interval_bytes <= PG_INT32_MAX);
	if (interval_bytes > 1)
	{
		double		weight = exact_weight(size, interval_bytes);

		draw.rounded_up = draw_fraction(prng) < weight - floor(weight);
	}
	return draw;
}

/*
 * Does the work of plh_sampling_value at an interval above 1.  In units of size squared, sampling
 * adds (1-p)/p^2, and rounding a weight of fraction f adds f(1-f).
 */
PlhSampleValue
plh_sampling_value_of(Size size, PlhDraw draw)
{
	double		weight = exact_weight(size, draw.interval_bytes);
	double		whole = floor(weight);
	double		fraction = weight - whole;

	return (PlhSampleValue)
	{
		.weight = (uint32) whole + draw.rounded_up,
			.variance = (double) size * (double) size *
			(weight * (weight - 1.0) + fraction * (1.0 - fraction))
	};
}

/*
 * Returns the 95% error bound of an estimate of "bytes" from that many samples, whose variances add
 * up to "variance".  The bound is 0 if every allocation was sampled.
 *
 * For few samples, z standard errors are too narrow.  The bound is the upper limit of the score
 * interval of a Poisson count k, z^2/2 + z sqrt(k + z^2/4), times the bytes that a sample stands
 * for; relative to the estimate it tends to z/sqrt(k) for large k.  Chunks far larger than the
 * interval are sampled for sure: the less is left to chance, the less is left of the correction.
 * Figures of a damaged profile may be any: the bound fits into an int64 all the same.
 */
double
plh_sampling_error_bytes(double variance, double bytes, int64 samples)
{
	double		sample_bytes;
	double		correction;
	double		error;

	if (variance <= 0.0 || samples <= 0)
		return 0.0;

	sample_bytes = bytes / (double) samples;
	correction = Min(1.0, variance / (sample_bytes * sample_bytes));
	error = Z95 * Z95 / 2.0 * sample_bytes * correction +
		Z95 * sqrt(variance + Z95 * Z95 / 4.0 * sample_bytes * sample_bytes * correction);
	return error >= 0.0 && error < MOST_ERROR ? error : MOST_ERROR;
}

/* The bound of an estimate of 0: what small chunks without a sample may come to. */
double
plh_sampling_missed_bytes(uint32 interval_bytes)
{
	return interval_bytes <= 1 ? 0.0 : Z95 * Z95 * interval_bytes;
}

/*
 * Returns the most that the error bound of an estimate of "bytes" can have been whose samples are
 * gone: that of small chunks, the first of which were sampled at the longer interval of memory that
 * ends with a query or transaction.
 */
int64
plh_sampling_most_error_bytes(int64 bytes, uint32 interval_bytes)
{
	uint32		coarse_interval;
	double		coarse_bytes;
	double		fine_bytes;
	int64		samples;

	if (interval_bytes <= 1)
		return 0;
	coarse_interval = plh_sampling_coarse_interval(interval_bytes, 0);
	coarse_bytes = Min(bytes, PLH_COARSE_BYTES + coarse_interval);
	fine_bytes = bytes - coarse_bytes;
	samples = coarse_bytes / coarse_interval + fine_bytes / interval_bytes;
	return (int64) plh_sampling_error_bytes(coarse_bytes * coarse_interval +
											fine_bytes * interval_bytes,
											bytes, Max(samples, 1));
}
