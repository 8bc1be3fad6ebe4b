/*
 * test_memory_course.c
 *	  What the private memory of a process has done, by histories of all shapes.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "unit_tests.h"
#include "verdict/memory_course.h"

#define MB INT64CONST(1048576)
#define START (INT64CONST(1000) * USECS_PER_DAY)
#define SECONDS(n) (START + (n) * USECS_PER_SEC)

static PlhProfileHeader header;
static PlhMemoryCourse course;

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

static void
test_shapes(void)
{
	set_history(60, steady);
	ok(plh_memory_course_follow(&course, &header, steady(0), SECONDS(90)),
	   "a history");
	ok(plh_memory_course_rests(&course) && course.rests_since == SECONDS(0),
	   "what does not change rests");
	ok(course.grown_bytes == 0 && course.fallen_bytes == 0,
	   "what rests has neither grown nor fallen");

	set_history(60, growing);
	ok(plh_memory_course_follow(&course, &header, growing(60), SECONDS(60)) &&
	   !plh_memory_course_rests(&course), "what grows does not rest");
	ok(course.grown_bytes == 60 * MB && course.grown_since == SECONDS(0),
	   "growth since the beginning");
	plh_memory_course_follow(&course, &header, growing(60), SECONDS(600));
	ok(plh_memory_course_rests(&course) && course.rests_since == SECONDS(59) &&
	   course.grown_bytes == 60 * MB,
	   "it rests from then on, and the growth before is known");

	set_history(60, step);
	plh_memory_course_follow(&course, &header, step(60), SECONDS(61));
	ok(plh_memory_course_rests(&course) && course.rests_since == SECONDS(20) &&
	   course.grown_bytes == 80 * MB, "a step is growth before a rest");

	set_history(60, fallen);
	plh_memory_course_follow(&course, &header, fallen(60), SECONDS(61));
	ok(course.rests_since == SECONDS(20) && course.grown_bytes == 0 &&
	   course.fallen_bytes == 370 * MB && course.fallen_since == SECONDS(19),
	   "memory that was given back");
}

static void
test_no_history(void)
{
	memset(&header, 0, sizeof(header));
	ok(!plh_memory_course_follow(&course, &header, 5 * MB, SECONDS(1)) &&
	   !plh_memory_course_rests(&course) && course.grown_bytes == 0,
	   "no history");
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
		plh_memory_course_follow(&course, &header,
								 (int64) pg_prng_uint64(&random), SECONDS(1));
		if (course.grown_bytes < 0 || course.fallen_bytes < 0 ||
			course.bytes < 0)
			wrong++;
	}
	ok(wrong == 0, "courses of damaged histories");
}

void
test_memory_course(void)
{
	test_shapes();
	test_no_history();
	test_damaged();
}
