/*
 * test_peak_histogram.c
 *	  The histogram of the peaks of calls: that medians are right within their error.
 */
#include "postgres.h"

#include "profile/peak_histogram.h"

#include "unit_tests.h"

#define MB (1024 * INT64CONST(1024))

/* Is a size within the error of the median of calls that all took it? */
static bool
is_told(int64 bytes)
{
	PlhPeakHistogram histogram = {0};
	PlhPeakMedian median;

	plh_peak_histogram_count(&histogram, 0, bytes);
	plh_peak_histogram_count(&histogram, 0, bytes);
	median = plh_peak_histogram_median(&histogram, bytes * 10);
	return bytes >= median.bytes - median.error_bytes &&
		bytes <= median.bytes + median.error_bytes &&
		(bytes < 64 * 1024 || median.error_bytes <= median.bytes / 5);
}

static void
test_sizes(void)
{
	int			wrong = 0;

	for (int64 bytes = 64 * 1024; bytes < 32 * 1024 * MB; bytes += bytes / 100)
		wrong += !is_told(bytes);
	ok(wrong == 0, "each size is told within 20 %");
	ok(is_told(1), "a small one is told by what it is below");
}

static void
test_medians(void)
{
	PlhPeakHistogram histogram = {0};
	PlhPeakHistogram other = {0};
	PlhPeakMedian median = plh_peak_histogram_median(&histogram, 0);

	ok(median.bytes == 0 && median.error_bytes == 0, "without calls there is no median");
	for (int i = 0; i < 60; i++)
		plh_peak_histogram_count(&histogram, 0, 2 * MB);
	for (int i = 0; i < 40; i++)
		plh_peak_histogram_count(&histogram, 0, 100 * MB);
	median = plh_peak_histogram_median(&histogram, 100 * MB);
	ok(median.bytes > 2 * MB && median.bytes < 3 * MB, "the median is that of the middle call");
	for (int i = 0; i < 30; i++)
		plh_peak_histogram_count(&other, 0, 100 * MB);
	plh_peak_histogram_add(&histogram, &other);
	median = plh_peak_histogram_median(&histogram, 100 * MB);
	ok(median.bytes > 80 * MB && median.bytes + median.error_bytes <= 100 * MB,
	   "calls of another one are added; none took more than the highest");
}

static void
test_growth(void)
{
	PlhPeakHistogram histogram = {0};
	int64		calls = 0;

	plh_peak_histogram_count(&histogram, 0, 2 * MB);
	plh_peak_histogram_count(&histogram, 2 * MB, 3 * MB);
	plh_peak_histogram_count(&histogram, 3 * MB, 300 * MB);
	for (int i = 0; i < PLH_PEAK_BUCKETS; i++)
		calls += histogram.calls[i];
	ok(calls == 1 && plh_peak_histogram_median(&histogram, 300 * MB).bytes > 200 * MB,
	   "a call that grows is one call");
	plh_peak_histogram_count(&histogram, 64 * MB, PG_INT64_MAX);
	ok(plh_peak_histogram_median(&histogram, PG_INT64_MAX).bytes > 0,
	   "a former size that was not counted does no harm, nor does a size without end");
}

void
test_peak_histogram(void)
{
	test_sizes();
	test_medians();
	test_growth();
}
