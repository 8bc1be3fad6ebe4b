/*
 * peak_histogram.c
 *	  How many calls of a statement had a peak of about what size, and the median of that.
 *
 * This code runs inside palloc.
 *
 * An entry of the file of statements has no room for each of its calls.  With a factor of the
 * square root of two between buckets, the middle of one is off by at most 17 %, as a sampled peak
 * of a megabyte is.  Half a factor of two is 181 / 128, to a tenth of a percent.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "profile/peak_histogram.h"

/* The least size of a bucket; that of the first one is none. */
static int64
least_of(int bucket)
{
	int64		power = INT64CONST(1) << (PLH_PEAK_FIRST_BITS + (bucket - 1) / 2);

	return bucket == 0 ? 0 : bucket % 2 == 1 ? power : power / 128 * 181;
}

static int
bucket_of(int64 bytes)
{
	int			bits = bytes <= 0 ? 0 : pg_leftmost_one_pos64(bytes);
	int			bucket = 2 * (bits - PLH_PEAK_FIRST_BITS) + 1;

	if (bits < PLH_PEAK_FIRST_BITS)
		return 0;
	if (bucket >= PLH_PEAK_BUCKETS)
		return PLH_PEAK_BUCKETS - 1;
	return bucket + 1 < PLH_PEAK_BUCKETS && bytes >= least_of(bucket + 1) ? bucket + 1 : bucket;
}

void
plh_peak_histogram_count(PlhPeakHistogram *histogram, int64 former_bytes, int64 bytes)
{
	uint32	   *former = &histogram->calls[bucket_of(former_bytes)];
	uint32	   *present = &histogram->calls[bucket_of(bytes)];

	/* a process may have died between two changes of an entry */
	if (former_bytes > 0 && *former > 0)
		(*former)--;
	if (*present < PG_UINT32_MAX)
		(*present)++;
}

void
plh_peak_histogram_add(PlhPeakHistogram *histogram, const PlhPeakHistogram *other)
{
	for (int i = 0; i < PLH_PEAK_BUCKETS; i++)
		histogram->calls[i] += Min(other->calls[i], PG_UINT32_MAX - histogram->calls[i]);
}

/* The bucket that the middle one of all calls is in; -1 without calls. */
static int
middle_bucket(const PlhPeakHistogram *histogram)
{
	uint64		all = 0;
	uint64		passed = 0;

	for (int i = 0; i < PLH_PEAK_BUCKETS; i++)
		all += histogram->calls[i];
	for (int i = 0; i < PLH_PEAK_BUCKETS; i++)
	{
		passed += histogram->calls[i];
		if (passed > 0 && 2 * passed >= all)
			return i;
	}
	return -1;
}

PlhPeakMedian
plh_peak_histogram_median(const PlhPeakHistogram *histogram, int64 max_bytes)
{
	int			bucket = middle_bucket(histogram);
	PlhPeakMedian median = {0};
	int64		least;
	int64		most;

	if (bucket < 0)
		return median;
	least = Min(least_of(bucket), max_bytes);
	most = bucket == PLH_PEAK_BUCKETS - 1 ? max_bytes : Min(least_of(bucket + 1), max_bytes);
	median.bytes = least + (most - least) / 2;
	median.error_bytes = most - median.bytes;
	return median;
}
