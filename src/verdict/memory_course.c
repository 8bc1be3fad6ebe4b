/*
 * memory_course.c
 *	  What the private memory of a process has done over time, by its history.
 *
 * The history is followed back from now: through the time in which nothing
 * changed, then through the time of growth, until it was larger before.
 */
#include "postgres.h"

#include "verdict/memory_course.h"

/* What counts as no change. */
static int64
noise_of(int64 bytes)
{
	return Max(PLH_COURSE_NOISE_BYTES,
			   (int64) (bytes * PLH_COURSE_NOISE_PART));
}

/* A figure of a profile, which may be damaged. */
static int64
sound(int64 bytes)
{
	return Max(0, Min(bytes, PG_INT64_MAX / 4));
}

/* A figure at a time: a point of the history, or the last census. */
typedef struct Point
{
	TimestampTz at;
	int64		bytes;
} Point;

/* That point of "count" points of the history, which the last census follows. */
static Point
point_of(const PlhProfileHeader *header, int count, int index)
{
	Point		point = {header->census_at, sound(header->own_bytes)};

	if (index < count)
	{
		point.at = header->history[index].at;
		point.bytes = sound(header->history[index].own_bytes);
	}
	return point;
}

/* Has it been like now at that point, too? */
static bool
is_like_now(const PlhMemoryCourse *course, Point point)
{
	int64		difference = point.bytes - course->bytes;

	return Max(difference, -difference) < noise_of(course->bytes);
}

/* Note by how much it is less than it was at that point. */
static void
note_fall(PlhMemoryCourse *course, Point point)
{
	if (point.bytes - course->bytes > Max(course->fallen_bytes,
										  noise_of(course->bytes)))
	{
		course->fallen_bytes = point.bytes - course->bytes;
		course->fallen_since = point.at;
	}
}

/* Note by how much it has grown since that point. */
static void
note_growth(PlhMemoryCourse *course, Point point)
{
	if (course->bytes - point.bytes > Max(course->grown_bytes,
										  noise_of(course->bytes)))
	{
		course->grown_bytes = course->bytes - point.bytes;
		course->grown_since = point.at;
	}
}

/*
 * Follow the memory of a process that has so much now.  Returns false if there is
 * no history.
 */
bool
plh_memory_course_follow(PlhMemoryCourse *course,
						 const PlhProfileHeader *header,
						 int64 bytes, TimestampTz now)
{
	int			count = Min(header->history_count, PLH_HISTORY_POINTS);
	int			index = count;
	int64		least;

	memset(course, 0, sizeof(*course));
	course->bytes = least = sound(bytes);
	course->now = course->rests_since = now;
	if (count == 0 || header->census_at == 0)
		return false;
	for (; index >= 0; index--)
	{
		Point		point = point_of(header, count, index);

		if (!is_like_now(course, point))
			break;
		course->rests_since = Min(course->rests_since, point.at);
	}
	for (; index >= 0; index--)
	{
		Point		point = point_of(header, count, index);

		note_fall(course, point);
		if (point.bytes > least + noise_of(course->bytes))
			break;
		note_growth(course, point);
		least = Min(least, point.bytes);
	}
	return true;
}

/*
 * Has it not changed for long enough to say so?
 */
bool
plh_memory_course_rests(const PlhMemoryCourse *course)
{
	return (double) course->now - (double) course->rests_since >=
		PLH_COURSE_REST_US;
}
