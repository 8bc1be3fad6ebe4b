/*
 * peak_histogram.h
 *	  How many calls of a statement had a peak of about what size, and the median of that.
 *
 * Sizes are told apart by a factor of the square root of two.
 *
 * These functions may be called inside palloc.
 */
#pragma once

/* The first one is of all sizes below, the last one of all above: 64 kB and 45 GB. */
#define PLH_PEAK_BUCKETS 40
#define PLH_PEAK_FIRST_BITS 16

typedef struct PlhPeakHistogram
{
	uint32		calls[PLH_PEAK_BUCKETS];
} PlhPeakHistogram;

/* A size that is known between two others, which are as far from it. */
typedef struct PlhPeakMedian
{
	int64		bytes;
	int64		error_bytes;
} PlhPeakMedian;

/* Counts a peak; "former_bytes" is what the same call was counted with before, or 0. */
extern void plh_peak_histogram_count(PlhPeakHistogram *histogram, int64 former_bytes, int64 bytes);

/* Adds the calls of another one. */
extern void plh_peak_histogram_add(PlhPeakHistogram *histogram, const PlhPeakHistogram *other);

/* What half of the calls did not exceed; 0 without calls.  No peak was more than "max_bytes". */
extern PlhPeakMedian plh_peak_histogram_median(const PlhPeakHistogram *histogram, int64 max_bytes);
