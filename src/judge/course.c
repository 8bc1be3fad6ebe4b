/*
 * course.c
 *	  What a figure of a process has done over time, by the process' history.
 *
 * A course is followed back from now: through the time in which nothing changed, then through the
 * time of growth, until it was larger before.  What is too little for a change, at the end of
 * growth, is held against the rate of before: a slow leak never rests.  A trend compares the later
 * half of the history with the earlier one.
 */
#include "postgres.h"

#include "judge/course.h"
#include "profile/profile_image.h"

/* Less than this part of all growth may be chance, and is added to the next. */
#define RISE_PART 64

/* After that time without a count nobody knows what happened meanwhile. */
#define UNCOUNTED_US INT64CONST(3000000)

/*
 * What is too little to be a change is growth all the same where it came at this part of the rate
 * before, at least: whoever gains 100 kB in each second does not rest for the ten seconds in which
 * that adds up to a megabyte.
 */
#define ONGOING_PART 0.25

/*
 * What grew this often, by this part of what may be no change, did so again and again; how often
 * tells how long it pauses.
 */
#define STEPS 4
#define STEP_PART 16

/* A pause this many times as long as those between its steps is a rest. */
#define REST_PAUSES 2

/* A figure at a time: a point of the history, or the last census. */
typedef struct Point
{
	TimestampTz at;
	int64		bytes;
} Point;

/* What counts as no change. */
static int64
noise_of(int64 bytes)
{
	return Max(PLH_COURSE_NOISE_BYTES, (int64) (bytes * PLH_COURSE_NOISE_PART));
}

/*
 * The most that contexts had until some time, by counts and by samples.  What they freed of that
 * their malloc may have kept.
 */
int64
plh_course_most_in_contexts(const PlhProfileHeader *header, TimestampTz until)
{
	int64		most = until < header->census_at ? 0 : plh_course_sound(header->context_bytes);

	if (header->peak_at <= until)
		most = Max(most, plh_course_sound(header->peak_bytes));
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
		if (header->history[i].at <= until)
			most = Max(most, plh_course_sound(header->history[i].context_bytes));
	return most;
}

/* A figure at a point of the history, where "passing" bytes were in contexts that pass. */
static int64
figure(const PlhProfileHeader *header, const PlhHistoryPoint *point,
	   int64 passing_bytes, PlhSeries series)
{
	int64		contexts = plh_course_sound(point->context_bytes);

	switch (series)
	{
		case PLH_SERIES_OWN:
			return plh_course_sound(point->own_bytes);
		case PLH_SERIES_LASTING:
			return Max(0, contexts - plh_course_sound(passing_bytes));
		case PLH_SERIES_PASSING:
			return Min(contexts, plh_course_sound(passing_bytes));
		case PLH_SERIES_OUTSIDE:
			return Max(0, plh_course_sound(point->malloc_bytes) -
					   (int64) (contexts * (1.0 + PLH_COURSE_BLOCK_PART)));
		case PLH_SERIES_UNTOLD:
			return Max(0, plh_course_sound(point->own_bytes) -
					   (int64) (plh_course_most_in_contexts(header, point->at) *
								(1.0 + PLH_COURSE_BLOCK_PART)) -
					   plh_course_sound(header->overhead_bytes));
		case PLH_SERIES_MAPPED:
			break;
	}
	return Max(0, plh_course_sound(point->own_bytes) - plh_course_sound(point->malloc_bytes) -
			   plh_course_sound(point->malloc_free_bytes) -
			   plh_course_sound(header->overhead_bytes));
}

/* The points of the history, which the last census follows. */
static int
points_of(const PlhProfileHeader *header)
{
	return Min(header->history_count, PLH_HISTORY_POINTS);
}

/* That point of "count" points of the history, or the last census behind them. */
static Point
point_of(const PlhProfileHeader *header, int count, int index, PlhSeries series)
{
	PlhHistoryPoint last = {
		.at = header->census_at,
		.context_bytes = header->context_bytes,
		.malloc_bytes = header->malloc_bytes,
		.malloc_free_bytes = header->malloc_free_bytes,
		.own_bytes = header->own_bytes
	};

	if (index >= count)
		return (Point)
	{
		last.at, figure(header, &last, header->passing_bytes, series)
	};
	return (Point)
	{
		header->history[index].at,
			figure(header, &header->history[index],
				   (int64) header->history_passing_kb[index] * 1024, series)
	};
}

/* Has it been like now at that point, too? */
static bool
is_like_now(const PlhCourse *course, Point point)
{
	int64		difference = point.bytes - course->bytes;

	return Max(difference, -difference) < noise_of(course->bytes);
}

static void
note_fall(PlhCourse *course, Point point)
{
	if (point.bytes - course->bytes > Max(course->fallen_bytes, noise_of(course->bytes)))
	{
		course->fallen_bytes = point.bytes - course->bytes;
		course->fallen_since = point.at;
	}
}

/* Note a point behind which it was never less than "least". */
static void
note_growth(PlhCourse *course, Point point, int64 least)
{
	int64		grown = course->bytes - point.bytes;

	if (least - point.bytes >= noise_of(course->bytes) / STEP_PART)
		course->steps++;
	if (grown > Max(course->grown_bytes, noise_of(course->bytes)))
	{
		course->grown_bytes = grown;
		course->grown_since = point.at;
	}
}

/*
 * The rate, per microsecond, at which bytes came just before the point "index": those that are half
 * as many as may be no change.  0 where none came.
 */
static double
rate_before(const PlhCourse *course, const PlhProfileHeader *header, int count, int index,
			PlhSeries series)
{
	Point		end = point_of(header, count, index, series);

	for (int i = index - 1; i >= 0; i--)
	{
		Point		point = point_of(header, count, i, series);
		double		passed = (double) end.at - (double) point.at;

		if (point.at < course->grown_since)
			break;
		if (end.bytes - point.bytes >= noise_of(course->bytes) / 2 && passed > 0)
			return ((double) end.bytes - (double) point.bytes) / passed;
	}
	return 0.0;
}

/* Growth has gone on until then if it went on at much of the rate of before. */
static void
note_rise(PlhCourse *course, Point point, double rate, int64 *most)
{
	double		passed = (double) point.at - (double) course->rests_since;

	if (point.bytes > *most &&
		(double) point.bytes - (double) *most >= ONGOING_PART * rate * passed)
		course->rests_since = point.at;
	*most = Max(*most, point.bytes);
}

/* Find the end of growth behind the point from which on it has been like now. */
static void
find_end(PlhCourse *course, const PlhProfileHeader *header, int count, int index,
		 PlhSeries series)
{
	Point		last = {course->now, course->bytes};
	double		rate;
	int64		most;

	if (course->grown_bytes == 0 || index > count)
		return;
	rate = rate_before(course, header, count, index, series);
	if (rate <= 0)
		return;
	most = point_of(header, count, index, series).bytes;
	for (int i = index + 1; i <= count; i++)
		note_rise(course, point_of(header, count, i, series), rate, &most);
	note_rise(course, last, rate, &most);
}

/* How much of the growth came in the second half of its time? */
static void
note_late(PlhCourse *course, const PlhProfileHeader *header, int count, PlhSeries series)
{
	double		passed = (double) course->rests_since - (double) course->grown_since;
	double		middle = (double) course->grown_since + passed / 2;

	for (int i = 0; i <= count && course->grown_bytes > 0; i++)
	{
		Point		point = point_of(header, count, i, series);

		if (point.at < course->grown_since)
			continue;
		if ((double) point.at > middle)
			break;
		course->late_bytes = Max(0, Min(course->bytes - point.bytes, course->grown_bytes));
	}
}

/* Follow a figure that is "bytes" now.  Returns false if there is no history. */
bool
plh_course_follow(PlhCourse *course, const PlhProfileHeader *header,
				  PlhSeries series, int64 bytes, TimestampTz now)
{
	int			count = points_of(header);
	int			index = count;
	int			first_at_rest;
	int64		least;

	memset(course, 0, sizeof(*course));
	course->bytes = least = plh_course_sound(bytes);
	course->now = course->rests_since = now;
	if (count == 0 || header->census_at == 0)
		return false;
	for (; index >= 0; index--)
	{
		Point		point = point_of(header, count, index, series);

		if (!is_like_now(course, point))
			break;
		course->rests_since = Min(course->rests_since, point.at);
	}
	course->end_unknown = index == count &&
		point_of(header, count, count, series).bytes < course->bytes &&
		(double) now - (double) header->census_at >= UNCOUNTED_US;
	first_at_rest = index + 1;
	for (; index >= 0; index--)
	{
		Point		point = point_of(header, count, index, series);

		note_fall(course, point);
		if (point.bytes > least + noise_of(course->bytes))
			break;
		note_growth(course, point, least);
		least = Min(least, point.bytes);
	}
	find_end(course, header, count, first_at_rest, series);
	note_late(course, header, count, series);
	return true;
}

/* The last count before that time; 0 if there is none. */
static TimestampTz
counted_before(const PlhProfileHeader *header, int count, TimestampTz until, PlhSeries series)
{
	for (int i = count; i >= 0; i--)
	{
		Point		point = point_of(header, count, i, series);

		if (point.at < until)
			return point.at;
	}
	return 0;
}

/*
 * What grew until a process became idle is often counted only when somebody asks, hours later:
 * growth has not gone on until then.  A short pause is none: its client's next statement may add
 * as much again.
 */
void
plh_course_end_by(PlhCourse *course, const PlhProfileHeader *header, PlhSeries series,
				  TimestampTz idle_since)
{
	int			count = points_of(header);
	TimestampTz before = counted_before(header, count, course->rests_since, series);

	if (course->grown_bytes == 0 || before < course->grown_since ||
		plh_profile_image_worked_at(header) > idle_since ||
		(double) course->now - (double) idle_since < PLH_COURSE_REST_US)
		return;
	course->rests_since = Min(course->rests_since, Max(before, idle_since));
	course->end_unknown = false;
	note_late(course, header, count, series);
}

/*
 * Has it not changed for long enough to say so?  What grows in steps pauses between them, and rests
 * once it has paused for longer than that.
 */
bool
plh_course_rests(const PlhCourse *course)
{
	double		rest = (double) course->now - (double) course->rests_since;
	double		grown_us = (double) course->rests_since - (double) course->grown_since;

	return rest >= PLH_COURSE_REST_US &&
		(course->steps < STEPS || rest >= REST_PAUSES * grown_us / course->steps);
}

/* Has it grown for a while, and no more slowly in the later half of that? */
bool
plh_course_is_steady(const PlhCourse *course)
{
	return course->grown_bytes > 0 &&
		(double) course->rests_since - (double) course->grown_since >= PLH_COURSE_REST_US &&
		(double) course->late_bytes >= PLH_COURSE_STEADY_PART * (double) course->grown_bytes;
}

/* Follow a figure from one point to the next, while it was "highest" before. */
static void
follow_point(PlhTrend *trend, Point point, double passed, int64 *highest)
{
	double		since = (double) point.at - (double) trend->first_at;

	if (point.bytes > trend->risen + (trend->now - trend->first) / RISE_PART)
	{
		trend->rises++;
		trend->risen = point.bytes;
		trend->risen_at = point.at;
	}
	trend->fall = Max(trend->fall, *highest - point.bytes);
	*highest = Max(*highest, point.bytes);
	if (since <= passed / 2)
	{
		trend->middle = point.bytes;
		trend->middle_at = point.at;
	}
	if (since <= passed * 3 / 4)
		trend->late = point.bytes;
}

/* How often was the process counted, where counts that are nearer than a second are one? */
int
plh_course_counts(const PlhProfileHeader *header)
{
	int			points = points_of(header);
	int			counts = 0;
	double		last_at = 0;

	for (int i = 0; i < points; i++)
	{
		double		at = (double) header->history[i].at;

		if (counts > 0 && at - last_at < USECS_PER_SEC)
			continue;
		counts++;
		last_at = at;
	}
	return counts;
}

/* Follow a figure through the history up to its point "last".  Without one all is 0. */
static void
follow_until(PlhTrend *trend, const PlhProfileHeader *header, PlhSeries series, int last)
{
	int			count = points_of(header);
	Point		first;
	Point		now;
	int64		highest;

	memset(trend, 0, sizeof(*trend));
	if (count == 0)
		return;
	first = point_of(header, count, 0, series);
	now = point_of(header, count, last, series);
	trend->points = plh_course_counts(header);
	trend->first = trend->middle = trend->late = first.bytes;
	trend->risen = highest = first.bytes;
	trend->first_at = trend->middle_at = trend->risen_at = first.at;
	trend->now = now.bytes;
	trend->now_at = now.at;
	for (int i = 1; i <= last; i++)
		follow_point(trend, point_of(header, count, i, series),
					 (double) now.at - (double) first.at, &highest);
}

/* Follow a figure through all of the history. */
void
plh_course_trend(PlhTrend *trend, const PlhProfileHeader *header, PlhSeries series)
{
	follow_until(trend, header, series, points_of(header));
}

/*
 * The same up to the first point that has the current figure and that the process counted because
 * somebody asked: however often one asks a process at rest, its trend does not become longer.
 */
void
plh_course_trend_at_work(PlhTrend *trend, const PlhProfileHeader *header, PlhSeries series)
{
	TimestampTz worked_at = plh_profile_image_worked_at(header);
	int			count = points_of(header);
	int			last = count;
	int64		now = point_of(header, count, count, series).bytes;

	for (; last > 0; last--)
	{
		Point		before = point_of(header, count, last - 1, series);

		if (before.at < worked_at || Max(now - before.bytes, before.bytes - now) > noise_of(now))
			break;
	}
	follow_until(trend, header, series, last);
}

/*
 * The rate in the later part of a time per that in the earlier one; 1 if it grew only in the later
 * one, -1 if it did not grow in that.
 */
double
plh_course_steadiness(int64 first, int64 middle, int64 now, double early_us, double late_us)
{
	double		early_rate;
	double		late_rate;

	if (now <= middle || late_us <= 0)
		return -1.0;
	if (middle <= first || early_us <= 0)
		return 1.0;
	early_rate = ((double) middle - (double) first) / early_us;
	late_rate = ((double) now - (double) middle) / late_us;
	return late_rate / early_rate;
}

double
plh_course_trend_steadiness(const PlhTrend *trend)
{
	return plh_course_steadiness(trend->first, trend->middle, trend->now,
								 (double) trend->middle_at - (double) trend->first_at,
								 (double) trend->now_at - (double) trend->middle_at);
}

/*
 * What a figure has gained from the first count after some time to the last one; 0 where it has not
 * grown.
 */
int64
plh_course_gained_since(const PlhProfileHeader *header, PlhSeries series, TimestampTz since)
{
	int			count = points_of(header);

	for (int i = 0; i < count; i++)
	{
		Point		point = point_of(header, count, i, series);

		if (point.at >= since)
			return Max(0, point_of(header, count, count, series).bytes - point.bytes);
	}
	return 0;
}

/*
 * The same from the last count before that time, or from nothing if there was none; 0 if there was
 * none since.
 */
int64
plh_course_gained_around(const PlhProfileHeader *header, PlhSeries series, TimestampTz since)
{
	int			count = points_of(header);
	Point		last = point_of(header, count, count, series);
	Point		before = {0};

	if (last.at < since)
		return 0;
	for (int i = 0; i < count; i++)
	{
		Point		point = point_of(header, count, i, series);

		if (point.at >= since)
			break;
		before = point;
	}
	return Max(0, last.bytes - before.bytes);
}
