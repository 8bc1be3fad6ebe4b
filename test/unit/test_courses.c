/*
 * test_courses.c
 *	  What the private memory of a process has done, by histories of all shapes.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "unit_tests.h"
#include "judge/course.h"

#define MB INT64CONST(1048576)
#define START (INT64CONST(1000) * USECS_PER_DAY)
#define SECONDS(n) (START + (n) * USECS_PER_SEC)

static PlhProfileHeader header;
static PlhCourse course;

/* A history of a point in each second. */
static void
set_history(int seconds, int64 (*bytes) (int second))
{
	memset(&header, 0, sizeof(header));
	header.history_count = seconds;
	for (int i = 0; i < seconds; i++)
	{
		header.history[i].at = SECONDS(i);
		header.history[i].own_bytes = bytes(i);
	}
	header.census_at = SECONDS(seconds);
	header.own_bytes = bytes(seconds);
}

static int64
steady(int second)
{
	return 100 * MB + (second % 2) * MB / 2;
}

static int64
growing(int second)
{
	return 10 * MB + second * MB;
}

static int64
step(int second)
{
	return second < 20 ? 10 * MB : 90 * MB;
}

static int64
fallen(int second)
{
	return second < 20 ? 400 * MB : 30 * MB;
}

static int64
falling(int second)
{
	return second < 20 ? 400 * MB : second < 40 ? 200 * MB : 30 * MB;
}

/* A little more than now, less, and as now. */
static int64
dip(int second)
{
	return second < 20 ? 100 * MB + MB / 2 : second < 40 ? 50 * MB : 100 * MB;
}

static void
test_shapes(void)
{
	set_history(60, steady);
	ok(plh_course_follow(&course, &header, PLH_SERIES_OWN, steady(0), SECONDS(90)),
	   "a history with points has a course");
	ok(plh_course_rests(&course) && course.rests_since == SECONDS(0),
	   "what does not change rests");
	ok(course.grown_bytes == 0 && course.fallen_bytes == 0,
	   "what rests has neither grown nor fallen");

	set_history(60, growing);
	ok(plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60), SECONDS(60)) &&
	   !plh_course_rests(&course), "what grows does not rest");
	ok(course.grown_bytes == 60 * MB && course.grown_since == SECONDS(0),
	   "growth is known since the beginning");
	plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60), SECONDS(600));
	ok(plh_course_rests(&course) && course.rests_since == SECONDS(60) &&
	   course.grown_bytes == 60 * MB,
	   "a process that stops to grow rests, and its growth is known");

	plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60) + 5 * MB, SECONDS(600));
	plh_course_end_by(&course, &header, PLH_SERIES_OWN, SECONDS(595));
	ok(course.rests_since == SECONDS(600), "a short pause ends no growth");
	plh_course_end_by(&course, &header, PLH_SERIES_OWN, SECONDS(62));
	ok(course.rests_since == SECONDS(62) && course.grown_bytes == 65 * MB &&
	   course.late_bytes == 34 * MB && !course.end_unknown,
	   "growth that is counted late has ended when the process became idle");
	plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60) + 5 * MB, SECONDS(600));
	plh_course_end_by(&course, &header, PLH_SERIES_OWN, SECONDS(30));
	ok(course.rests_since == SECONDS(600), "a process that counted since then was not idle");

	plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60) + 5 * MB, SECONDS(62));
	ok(!course.end_unknown, "growth since a count of a moment ago goes on");
	plh_course_follow(&course, &header, PLH_SERIES_OWN, growing(60) + 5 * MB, SECONDS(70));
	ok(course.end_unknown && course.grown_bytes == 65 * MB,
	   "when growth ended is not known where the last count is long ago and shows less");

	set_history(60, step);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, step(60), SECONDS(61));
	ok(plh_course_rests(&course) && course.rests_since == SECONDS(20) &&
	   course.grown_bytes == 80 * MB, "a step is growth before a rest");

	set_history(60, fallen);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, fallen(60), SECONDS(61));
	ok(course.rests_since == SECONDS(20) && course.grown_bytes == 0 &&
	   course.fallen_bytes == 370 * MB && course.fallen_since == SECONDS(19),
	   "memory that was given back is known with its time");

	set_history(60, dip);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, dip(60), SECONDS(61));
	ok(course.grown_bytes == 50 * MB && course.fallen_bytes == 0,
	   "what was hardly more before it grew has not fallen");
}

/* 100 kB in each second, from the beginning or for a while. */
static int64
slow(int second)
{
	return 100 * MB + second * MB / 10;
}

static int64
slow_at_first(int second)
{
	return slow(Min(second, 80));
}

/* 60 MB at once, and then slowly. */
static int64
slow_later(int second)
{
	return second < 5 ? 40 * MB : slow(second);
}

/* 60 MB at once, and then next to nothing. */
static int64
all_but_full(int second)
{
	return second < 5 ? 40 * MB : 100 * MB + second * MB / 50;
}

/* 8 MB in each ten seconds. */
static int64
by_steps(int second)
{
	return 10 * MB + second / 10 * 8 * MB;
}

/* Ever less, as a cache that fills. */
static int64
slowing(int second)
{
	return 10 * MB + (second < 10 ? second * MB : 10 * MB);
}

/* What is too little to be a change may be growth. */
static void
test_slow_growth(void)
{
	set_history(100, slow);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, slow(100), SECONDS(100));
	ok(!plh_course_rests(&course) && course.rests_since == SECONDS(100) &&
	   course.grown_bytes == 10 * MB, "what grows as slowly as before does not rest");
	ok(plh_course_is_steady(&course) && course.late_bytes == 5 * MB,
	   "it grows steadily, half of it in the later half of its time");
	plh_course_follow(&course, &header, PLH_SERIES_OWN, slow(100), SECONDS(130));
	ok(plh_course_rests(&course) && course.rests_since == SECONDS(100),
	   "a slow growth that has stopped has an end");
	set_history(100, slow_at_first);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, slow_at_first(100), SECONDS(100));
	ok(course.rests_since == SECONDS(80), "its end is the last time at which it grew");
	set_history(100, slow_later);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, slow_later(100), SECONDS(100));
	ok(!plh_course_rests(&course) && course.rests_since == SECONDS(100),
	   "slow growth behind fast is growth");
	set_history(60, all_but_full);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, all_but_full(60), SECONDS(60));
	ok(plh_course_rests(&course), "what is next to nothing beside the growth before is a rest");
	set_history(100, by_steps);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, by_steps(100), SECONDS(115));
	ok(!plh_course_rests(&course) && course.rests_since == SECONDS(100) && course.steps == 10,
	   "what grows in steps does not rest between two of them");
	plh_course_follow(&course, &header, PLH_SERIES_OWN, by_steps(100), SECONDS(125));
	ok(plh_course_rests(&course), "it does once it has paused for longer");
	set_history(40, slowing);
	plh_course_follow(&course, &header, PLH_SERIES_OWN, slowing(40), SECONDS(40));
	ok(plh_course_rests(&course) && course.rests_since == SECONDS(10) &&
	   course.grown_since == SECONDS(0), "what has filled rests since then");
}

/* The parts of which the history tells, and their halves. */
static void
test_series(void)
{
	PlhTrend	trend;

	set_history(60, steady);
	for (int i = 0; i < 60; i++)
	{
		header.history[i].context_bytes = (10 + i) * MB;
		header.history[i].malloc_bytes = 100 * MB;
		header.history_passing_kb[i] = 1024 * 8;
	}
	header.context_bytes = 70 * MB;
	header.passing_bytes = 8 * MB;
	header.malloc_bytes = 100 * MB;
	plh_course_trend(&trend, &header, PLH_SERIES_LASTING);
	ok(trend.first == 2 * MB && trend.now == 62 * MB && trend.middle == 32 * MB &&
	   trend.late == 47 * MB && trend.fall == 0 && plh_course_trend_steadiness(&trend) == 1.0,
	   "what lasts is what contexts have beside those that pass");
	plh_course_trend(&trend, &header, PLH_SERIES_PASSING);
	ok(trend.first == 8 * MB && trend.now == 8 * MB && trend.rises == 0 &&
	   plh_course_trend_steadiness(&trend) == -1.0, "what passes is counted by itself");
	header.history[30].context_bytes = 20 * MB;
	plh_course_trend(&trend, &header, PLH_SERIES_LASTING);
	ok(trend.fall == 19 * MB, "the largest fall is known");
	plh_course_trend(&trend, &header, PLH_SERIES_OUTSIDE);
	ok(trend.now == 100 * MB - (int64) (70 * MB * 1.02) && trend.now < trend.first,
	   "what malloc gives out beside contexts falls as they grow");
}

/* Counts that somebody asked for, of a process at rest, do not make its trend longer. */
static void
test_trend_at_work(void)
{
	PlhTrend	trend;

	set_history(60, steady);
	for (int i = 0; i < 60; i++)
	{
		header.history[i].context_bytes = (10 + Min(i, 20)) * MB;
		header.history_passing_kb[i] = 0;
	}
	header.context_bytes = 30 * MB;
	header.passing_bytes = 0;
	header.worked_at = header.history[20].at;
	plh_course_trend(&trend, &header, PLH_SERIES_LASTING);
	ok(plh_course_trend_steadiness(&trend) == -1.0, "all of the history is mostly rest");
	plh_course_trend_at_work(&trend, &header, PLH_SERIES_LASTING);
	ok(trend.now_at <= header.worked_at && trend.now >= 29 * MB &&
	   plh_course_trend_steadiness(&trend) > 0.9, "that of its work is steady");
	header.history[50].context_bytes = 40 * MB;
	plh_course_trend_at_work(&trend, &header, PLH_SERIES_LASTING);
	ok(trend.now_at == header.history[51].at && trend.fall == 10 * MB,
	   "what comes and goes later is not rest");
	header.worked_at = 0;
}

/* What counts as a rise, and as a fall. */
static void
test_trends(void)
{
	PlhTrend	trend;

	set_history(60, growing);
	plh_course_trend(&trend, &header, PLH_SERIES_OWN);
	ok(trend.rises == 60, "each count that is higher is a rise");
	set_history(120, growing);
	plh_course_trend(&trend, &header, PLH_SERIES_OWN);
	ok(trend.rises == 60, "a rise is more than a part of all growth");
	set_history(60, falling);
	plh_course_trend(&trend, &header, PLH_SERIES_OWN);
	ok(trend.fall == 370 * MB, "a fall in steps is one");
}

static void
test_gains(void)
{
	set_history(60, growing);
	ok(plh_course_gained_since(&header, PLH_SERIES_OWN, SECONDS(20) - 1) == 40 * MB &&
	   plh_course_gained_since(&header, PLH_SERIES_OWN, SECONDS(20) + 1) == 39 * MB,
	   "a gain is counted from the first count after a time on");
	ok(plh_course_gained_since(&header, PLH_SERIES_OWN, 0) == 60 * MB &&
	   plh_course_gained_since(&header, PLH_SERIES_OWN, SECONDS(60)) == 0,
	   "a gain is that of all of the history, or nothing behind it");
	ok(plh_course_gained_around(&header, PLH_SERIES_OWN, SECONDS(20) + 1) == 40 * MB,
	   "what has come around a time is what was counted since the last count before");
	ok(plh_course_gained_around(&header, PLH_SERIES_OWN, header.census_at + 1) == 0,
	   "nothing is known to have come around a time since which nothing was counted");
	ok(plh_course_gained_around(&header, PLH_SERIES_OWN, 1) ==
	   plh_course_gained_since(&header, PLH_SERIES_OWN, 0) + header.history[0].own_bytes,
	   "without a count before all has come since");
	set_history(60, fallen);
	ok(plh_course_gained_since(&header, PLH_SERIES_OWN, SECONDS(1)) == 0, "a fall is no gain");
	set_history(0, growing);
	ok(plh_course_gained_since(&header, PLH_SERIES_OWN, 0) == 0, "there is no gain without a history");
}

static void
test_no_history(void)
{
	memset(&header, 0, sizeof(header));
	ok(!plh_course_follow(&course, &header, PLH_SERIES_OWN, 5 * MB, SECONDS(1)) &&
	   !plh_course_rests(&course) && course.grown_bytes == 0,
	   "a process without a history has no course");
}

/* Figures that no process has. */
static void
test_damaged(void)
{
	pg_prng_state random;
	int			wrong = 0;

	pg_prng_seed(&random, 7);
	for (int i = 0; i < 2000; i++)
	{
		uint8	   *bytes = (uint8 *) &header;

		for (size_t j = 0; j < sizeof(header); j++)
			bytes[j] = pg_prng_uint32(&random);
		if (i % 2 == 0)
			header.history_count %= PLH_HISTORY_POINTS;
		plh_course_follow(&course, &header, PLH_SERIES_OWN,
						  (int64) pg_prng_uint64(&random), SECONDS(1));
		if (course.grown_bytes < 0 || course.fallen_bytes < 0 ||
			course.bytes < 0)
			wrong++;
	}
	ok(wrong == 0, "courses of damaged histories are in order");
}

void
test_courses(void)
{
	test_shapes();
	test_slow_growth();
	test_series();
	test_trend_at_work();
	test_trends();
	test_gains();
	test_no_history();
	test_damaged();
}
