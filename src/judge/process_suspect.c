/*
 * process_suspect.c
 *	  What a process is suspect of as a whole: memory that no call site shows, by the figures
 *	  that it has counted over time.
 *
 * A trend is judged as a site is: what was gained in the later half of it, compared with the
 * earlier one.  One that begins where a process has long been at rest has gained nothing in its
 * earlier half, and is steady, too.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/course.h"
#include "judge/process_suspect.h"

/* Figures beyond this are damaged; sums of some that are not can't overflow. */
#define BYTES_MAX (PG_INT64_MAX / 8)

static int64
sound(int64 bytes)
{
	return Max(0, Min(bytes, BYTES_MAX));
}

/*
 * The figure that a finding on a process goes by.
 */
PlhSeries
plh_process_suspect_series(PlhKind kind)
{
	switch (kind)
	{
		case PLH_KIND_MALLOC_GROWS:
			return PLH_SERIES_OUTSIDE;
		case PLH_KIND_MAPPED_GROWS:
			return PLH_SERIES_MAPPED;
		default:
			return PLH_SERIES_LASTING;
	}
}

/* Fill in the rate of the later half, unless the figure has stopped growing. */
static void
note_rate(PlhFinding *finding, const PlhTrend *trend, TimestampTz now)
{
	double		bytes = (double) trend->risen - (double) trend->middle;
	double		passed_us = (double) trend->risen_at - (double) trend->middle_at;

	if (bytes <= 0 || passed_us < PLH_SUSPECT_LEAK_RATE_US ||
		plh_suspect_has_stopped(trend->first_at, trend->risen_at, now))
		return;
	finding->rate = plh_suspect_rate(bytes, passed_us);
}

/* Does a figure keep growing, from one census to the next? */
static bool
keeps_growing(PlhFinding *finding, const PlhTrend *trend, TimestampTz now)
{
	double		steadiness = plh_course_trend_steadiness(trend);

	finding->bytes = trend->now;
	finding->growth_bytes = trend->now - trend->first;
	finding->late_bytes = trend->now - trend->middle;
	finding->score = Max(0.0, Min(1.0, steadiness));
	note_rate(finding, trend, now);
	return finding->growth_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		trend->fall <= finding->growth_bytes * PLH_SUSPECT_FALL_PART &&
		(trend->points >= PLH_SUSPECT_EPOCHS ||
		 finding->growth_bytes >= PLH_SUSPECT_SURE_BYTES) &&
		trend->rises >= PLH_SUSPECT_RISES &&
		trend->late < trend->now && steadiness >= PLH_SUSPECT_STEADINESS;
}

/* Does malloc hold very much beside contexts, whether it grows or not? */
static bool
is_large(const PlhFinding *finding, const PlhTrend *trend)
{
	return finding->kind == PLH_KIND_MALLOC_GROWS &&
		finding->bytes >= PLH_SUSPECT_GIVEN_OUT_BYTES &&
		trend->fall <= finding->bytes * PLH_SUSPECT_FALL_PART;
}

/*
 * The bytes that a finding on malloc is about: what it has gained, or all that it has given out
 * where that is very much.
 */
int64
plh_process_suspect_malloc_bytes(const PlhFinding *finding)
{
	return finding->bytes >= PLH_SUSPECT_GIVEN_OUT_BYTES ? finding->bytes : finding->growth_bytes;
}

/* Since when has malloc kept much, by all that was counted since? */
static TimestampTz
kept_since(const PlhProfileHeader *header)
{
	TimestampTz since = header->census_at;

	for (uint32 i = Min(header->history_count, PLH_HISTORY_POINTS); i > 0; i--)
	{
		const PlhHistoryPoint *point = &header->history[i - 1];

		if (point->malloc_free_bytes < PLH_SUSPECT_KEPT_BYTES)
			break;
		since = Min(since, point->at);
	}
	return since;
}

/* Does malloc keep much that was freed, and was not needed again? */
static bool
is_freed(PlhFinding *finding, const PlhProfileHeader *header, TimestampTz now)
{
	int64		kept = sound(header->malloc_free_bytes);

	finding->bytes = kept;
	finding->score = kept / (1.0 + kept + sound(header->malloc_bytes));
	return kept >= PLH_SUSPECT_KEPT_BYTES &&
		(double) now - (double) kept_since(header) >= PLH_SUSPECT_KEPT_US;
}

/*
 * Judge a process as a whole: is that a finding on it?  Its bytes are those that it is about,
 * growth_bytes what was gained since the history began.  A process that has not counted itself
 * again until "now" has been at rest.
 */
bool
plh_process_suspect_judge(PlhFinding *finding, const PlhProfileHeader *header,
						  PlhKind kind, TimestampTz now)
{
	PlhTrend	trend;

	memset(finding, 0, sizeof(*finding));
	finding->kind = kind;
	if (header->census_at == 0 || (header->malloc_bytes < 0 && kind != PLH_KIND_PROCESS_GROWS))
		return false;
	finding->counted_at = header->census_at;
	if (kind == PLH_KIND_MALLOC_KEEPS)
		return is_freed(finding, header, now);
	plh_course_trend(&trend, header, plh_process_suspect_series(kind));
	finding->baseline_at = trend.first_at;
	finding->has_baseline = true;
	return (keeps_growing(finding, &trend, now) &&
			(kind != PLH_KIND_MAPPED_GROWS || trend.now >= PLH_SUSPECT_KEPT_BYTES)) ||
		is_large(finding, &trend);
}

/*
 * Do samples of malloc stand for more than it has given out outside of contexts?  Then it was not
 * seen that some were freed, as by a library that calls another free than the server's.
 */
bool
plh_process_suspect_misses_frees(const PlhProfileHeader *header)
{
	double		given_out = (double) header->malloc_bytes - (double) header->context_bytes;

	return header->census_at != 0 && header->malloc_bytes >= 0 &&
		(double) header->malloc_sampled_bytes -
		PLH_SUSPECT_MISSED_ERRORS * (double) header->malloc_sampled_error -
		PLH_SUSPECT_MISSED_BYTES > Max(0.0, given_out);
}
