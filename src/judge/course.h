/*
 * course.h
 *	  What a figure of a process has done over time, by the process' history.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the server.  The figures
 * may be damaged ones.
 */
#pragma once

#include "profile/profile_layout.h"

/*
 * Memory that has changed by less than the larger of these has not changed: a process takes and
 * gives back as much from one statement to the next.
 */
#define PLH_COURSE_NOISE_BYTES INT64CONST(1048576)
#define PLH_COURSE_NOISE_PART 0.02

/* Memory that has not changed for as long as this rests. */
#define PLH_COURSE_REST_US INT64CONST(10000000)

/* Growth is steady if at least this part of it came in the second half of its time. */
#define PLH_COURSE_STEADY_PART 0.3

/* Blocks of contexts take this part more of malloc than they say. */
#define PLH_COURSE_BLOCK_PART 0.02

/* A figure, which may be damaged, so that sums of some can't overflow. */
static inline int64
plh_course_sound(int64 bytes)
{
	return Max(0, Min(bytes, PG_INT64_MAX / 8));
}

/* The figures that the history has. */
typedef enum PlhSeries
{
	PLH_SERIES_OWN,				/* the process' own memory */
	PLH_SERIES_LASTING,			/* in contexts of the session */
	PLH_SERIES_PASSING,			/* in other contexts */
	PLH_SERIES_OUTSIDE,			/* given out by malloc beside contexts */
	PLH_SERIES_MAPPED,			/* neither contexts' nor malloc's */
	PLH_SERIES_UNTOLD			/* more than contexts ever had, where malloc
								 * does not tell what it has */
} PlhSeries;

/* How the figure became what it is now. */
typedef struct PlhCourse
{
	int64		bytes;			/* now */
	TimestampTz now;

	/* Since when it has been like that; "now" if it changes. */
	TimestampTz rests_since;

	/*
	 * By how much it had grown until then, without a fall in between, and
	 * since when; 0 if it had not.
	 */
	int64		grown_bytes;
	TimestampTz grown_since;
	int64		late_bytes;		/* of these, in the second half of that time */
	int			steps;			/* in which it grew */

	/*
	 * It is more than at the last count, which is long ago: when it stopped
	 * growing, if it has, is not known.
	 */
	bool		end_unknown;

	/* By how much it is less than it was once, and when; 0 if it is not. */
	int64		fallen_bytes;
	TimestampTz fallen_since;
} PlhCourse;

/* The halves of all of the history up to the last census. */
typedef struct PlhTrend
{
	int64		first;
	int64		middle;
	int64		late;			/* at three quarters */
	int64		now;
	TimestampTz first_at;
	TimestampTz middle_at;
	TimestampTz now_at;
	int			points;			/* as plh_course_counts has them */
	int			rises;			/* points with more than at the last rise */
	int64		risen;			/* at the last of these, or at first */
	TimestampTz risen_at;
	int64		fall;			/* the largest below what it had been before */
} PlhTrend;

extern int64 plh_course_most_in_contexts(const PlhProfileHeader *header, TimestampTz until);
extern bool plh_course_follow(PlhCourse *course, const PlhProfileHeader *header,
							  PlhSeries series, int64 bytes, TimestampTz now);

/* It has done nothing since that time. */
extern void plh_course_end_by(PlhCourse *course, const PlhProfileHeader *header,
							  PlhSeries series, TimestampTz idle_since);
extern bool plh_course_rests(const PlhCourse *course);
extern bool plh_course_is_steady(const PlhCourse *course);
extern int	plh_course_counts(const PlhProfileHeader *header);
extern void plh_course_trend(PlhTrend *trend, const PlhProfileHeader *header, PlhSeries series);
extern void plh_course_trend_at_work(PlhTrend *trend, const PlhProfileHeader *header,
									 PlhSeries series);
extern double plh_course_trend_steadiness(const PlhTrend *trend);

extern int64 plh_course_gained_since(const PlhProfileHeader *header,
									 PlhSeries series, TimestampTz since);
extern int64 plh_course_gained_around(const PlhProfileHeader *header,
									  PlhSeries series, TimestampTz since);

extern double plh_course_steadiness(int64 first, int64 middle, int64 now,
									double early_us, double late_us);
