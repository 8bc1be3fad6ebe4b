/*
 * test_sampling.c
 *	  Estimates: bias, spread, and how good the error bound is.
 */
#include "postgres.h"

#include <math.h>

#include "base/sampling.h"
#include "unit_tests.h"

/*
 * Many estimates of known sums: bias, spread, and how often the truth is
 * within three standard errors and within the error bound.  Samples are taken
 * at a shorter interval, and kept as if they were at the longer one.
 */
static void
test_thinned_estimates(Size size, int objects, uint32 shorter, uint32 interval)
{
	enum
	{
		TRIALS = 1000
	};
	pg_prng_state prng;
	double		truth = (double) size * objects;
	double		sum = 0;
	int			within_three = 0;
	int			within_bound = 0;
	char		name[128];

	pg_prng_seed(&prng, 42 + size + interval);
	for (int trial = 0; trial < TRIALS; trial++)
	{
		int64		countdown = plh_sampling_gap(&prng, shorter);
		double		bytes = 0;
		double		variance = 0;
		int64		samples = 0;

		for (int i = 0; i < objects; i++)
		{
			if ((countdown -= size) > 0)
				continue;
			if (shorter == interval ||
				plh_sampling_keeps(&prng, size, shorter, interval))
			{
				PlhDraw		draw = plh_sampling_draw(&prng, size, interval);

				bytes += (double) size * plh_sampling_value(size, draw).weight;
				variance += plh_sampling_value(size, draw).variance;
				samples++;
			}
			countdown = plh_sampling_gap(&prng, shorter);
		}
		sum += bytes;
		within_three += fabs(bytes - truth) <= 3 * sqrt(variance);
		within_bound += fabs(bytes - truth) <=
			plh_sampling_error_bytes(variance, bytes, samples);
	}

	printf("# %d x %zu bytes, interval %u of %u: mean/truth %.4f, within 3 s.e. %.1f%%, within bound %.1f%%\n",
		   objects, size, shorter, interval, sum / TRIALS / truth,
		   100.0 * within_three / TRIALS, 100.0 * within_bound / TRIALS);

	/* the mean of 1,000 trials of 100 samples or more each is that precise */
	snprintf(name, sizeof(name), "estimates have no bias: %d x %zu at %u of %u", objects, size,
			 shorter, interval);
	ok(fabs(sum / TRIALS / truth - 1.0) < 0.012, name);
	snprintf(name, sizeof(name), "estimates are within 3 standard errors: %d x %zu at %u of %u",
			 objects, size, shorter, interval);
	ok(within_three >= TRIALS * 99 / 100, name);
	snprintf(name, sizeof(name), "estimates are within their error bound: %d x %zu at %u of %u",
			 objects, size, shorter, interval);
	ok(within_bound >= TRIALS * 95 / 100, name);
}

/* The same for samples that are all kept. */
static void
test_estimates(Size size, int objects, uint32 interval)
{
	test_thinned_estimates(size, objects, interval, interval);
}

/* Few samples are where a bound of two standard errors would not hold. */
static void
test_bound_of_few_samples(void)
{
	pg_prng_state prng;
	int			shown = 0;
	int			within = 0;

	pg_prng_seed(&prng, 7);
	for (int trial = 0; trial < 10000; trial++)
	{
		int64		countdown = plh_sampling_gap(&prng, 1000);
		double		bytes = 0;
		double		variance = 0;
		int64		samples = 0;

		for (int i = 0; i < 300; i++)
		{
			if ((countdown -= 10) <= 0)
			{
				PlhDraw		draw = plh_sampling_draw(&prng, 10, 1000);

				bytes += 10.0 * plh_sampling_value(10, draw).weight;
				variance += plh_sampling_value(10, draw).variance;
				samples++;
				countdown = plh_sampling_gap(&prng, 1000);
			}
		}

		/* without a sample there is no row that could be wrong */
		if (bytes == 0)
			continue;
		shown++;
		within += fabs(bytes - 3000) <=
			plh_sampling_error_bytes(variance, bytes, samples);
	}
	printf("# 3 samples expected: within bound %.1f%%\n",
		   100.0 * within / shown);
	ok(within >= shown * 0.95, "the error bound holds for a handful of samples");
}

static void
test_exact_interval(void)
{
	pg_prng_state prng;

	PlhDraw		draw;

	pg_prng_seed(&prng, 1);
	draw = plh_sampling_draw(&prng, 64, 1);
	ok(plh_sampling_gap(&prng, 1) == 0, "interval 1 has no gaps");
	ok(plh_sampling_value(0, draw).weight == 1 && plh_sampling_value(64, draw).weight == 1,
	   "interval 1 has weight 1");
	ok(plh_sampling_error_bytes(plh_sampling_value(64, draw).variance, 64, 1) == 0,
	   "interval 1 has no error");

	/* three times the interval is sampled with p = 0.95 */
	draw = plh_sampling_draw(&prng, 3000, 1000);
	ok(plh_sampling_error_bytes(plh_sampling_value(3000, draw).variance, 3000, 1) > 0,
	   "a chunk larger than the interval is not exact");
	draw = plh_sampling_draw(&prng, 100000, 1000);
	ok(plh_sampling_error_bytes(plh_sampling_value(100000, draw).variance, 100000, 1) < 1,
	   "a chunk a hundred times larger than the interval is exact, but for a byte");
}

/* The bound in bytes per sample, from the formula by hand. */
static void
test_bounds(void)
{
	double		many = plh_sampling_error_bytes(100e6, 100e3, 100) / 1000;
	double		large = plh_sampling_error_bytes(10e3, 1000, 1) / 1000;

	ok(fabs(many - 21.61) < 0.01,
	   "a hundred samples of small chunks have an error bound of 21.61 samples");
	ok(fabs(large - 0.2936) < 0.0001,
	   "a chunk that was nearly sure to be sampled has an error bound of 0.29 samples");
}

/* What is not known of samples that are gone makes the error no smaller. */
static void
test_most_error(void)
{
	ok(plh_sampling_most_error_bytes(100000000, 1) == 0,
	   "the error at interval 1 is 0");
	ok(plh_sampling_most_error_bytes(100000000, 0) == 0, "the error without samples is 0");
	ok(plh_sampling_most_error_bytes(100000000, 1000) ==
	   (int64) plh_sampling_error_bytes(1e11, 1e8, 100000),
	   "the largest error is that of small chunks");
	ok(plh_sampling_most_error_bytes(PLH_COARSE_BYTES, PLH_COARSE_FROM) ==
	   (int64) plh_sampling_error_bytes((double) PLH_COARSE_BYTES * PLH_COARSE_FACTOR * PLH_COARSE_FROM,
										PLH_COARSE_BYTES, PLH_COARSE_BYTES / (PLH_COARSE_FACTOR * PLH_COARSE_FROM)),
	   "the largest error of thinned samples is that at the longer interval");
}

void
test_sampling(void)
{
	test_estimates(64, 200000, 64 * 1024);
	test_estimates(8321, 2000, 64 * 1024);
	test_estimates(8, 20000, 2);
	test_estimates(2, 20000, 2);
	test_estimates(1000, 1000, 1500);
	test_estimates(100000, 400, 300000);
	test_estimates(100000, 400, 30000);
	test_thinned_estimates(64, 200000, 16 * 1024, 64 * 1024);
	test_thinned_estimates(8321, 2000, 16 * 1024, 64 * 1024);
	test_thinned_estimates(100000, 400, 75000, 300000);
	test_bound_of_few_samples();
	test_exact_interval();
	test_bounds();
	test_most_error();
}
