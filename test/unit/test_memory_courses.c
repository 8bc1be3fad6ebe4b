/*
 * test_memory_courses.c
 *	  When memory is foreseen to run out, by series of all shapes.
 *
 * bench/forecast has many more of each, with other work beside them.
 */
#include "postgres.h"

#include <math.h>

#include "judge/memory_course.h"
#include "unit_tests.h"

#define MB INT64CONST(1048576)
#define SECOND INT64CONST(1000000)
#define LIMIT (1000 * MB)

static PlhMemoryCourse course;
static PlhMemoryForecast forecast;
static int64 now_us;

static void
begin(void)
{
	memset(&course, 0, sizeof(course));
	now_us = 1000 * SECOND;
}

static void
note(int64 limit, double room, double promised)
{
	const PlhMemoryLook now = {now_us, (int64) (room * MB), (int64) (promised * MB)};

	plh_memory_course_note(&course, limit, &now);
}

/* A second later there is that room, in MB.  Returns whether anything is foreseen. */
static bool
look_at(double room, double promised)
{
	now_us += SECOND;
	note(LIMIT, room, promised);
	return plh_memory_course_foresee(&course, &forecast);
}

static bool
look(double room)
{
	return look_at(room, 0);
}

/* Nothing changes. */
static bool
rest(double room, int seconds)
{
	bool		foreseen = false;

	for (int i = 0; i < seconds; i++)
		foreseen = look(room);
	return foreseen;
}

/* So much is taken each second.  Returns how often something was foreseen. */
static int
take(double *room, double rate, int seconds)
{
	int			count = 0;

	for (int i = 0; i < seconds; i++)
		count += look(*room -= rate);
	return count;
}

/* Is that time foreseen, in seconds, to within a part of it? */
static bool
is_left(double seconds, double part)
{
	return fabs(forecast.left_us / 1e6 - seconds) <= seconds * part;
}

static void
test_steady(void)
{
	double		room = 900;

	begin();
	rest(room, 100);
	ok(take(&room, 3, 125) == 0, "nothing is foreseen while growth has taken less than three quarters of what is left");
	ok(take(&room, 3, 12) > 0 && is_left(room / 3, 0.05), "then it is, by its rate");
	ok(take(&room, 3, 150) == 150 && is_left(room / 3, 0.05), "as long as it goes on");
	ok(forecast.takes_now && fabs(forecast.bytes_per_second - 3 * MB) < MB / 10, "at that rate");
	ok(forecast.soonest_us < forecast.left_us && forecast.latest_us > forecast.left_us, "which is not exact");
	ok(fabs((double) forecast.grown_bytes / MB - (900 - room)) < 10, "since it began");
	take(&room, 3, 12);
	ok(look(0) && forecast.left_us == 0, "without any room no time is left");
}

static void
test_ended(void)
{
	double		room = 900;

	begin();
	rest(room, 20);
	ok(take(&room, 20, 25) > 0, "a burst may be foreseen to go on");
	ok(look(room) && !forecast.takes_now, "at the look that it does not, it is known to take nothing");
	rest(room, 3);
	ok(!look(room), "soon nothing is foreseen");
	ok(!rest(room, 1000), "nor later");
	ok(take(&room, -20, 25) == 0, "nor while memory is given back");
	ok(take(&room, 20, 24) == 0, "nor when the same comes again");
	ok(take(&room, 20, 12) > 0, "but when more is taken than by any that has ended");
}

static void
test_forgotten(void)
{
	double		room = 900;

	begin();
	rest(room, 20);
	take(&room, 20, 25);
	rest(room, 20);
	take(&room, -20, 25);
	now_us += 24 * 3600 * SECOND;
	rest(room, 20);
	ok(take(&room, 20, 20) > 0, "after a day it is forgotten");
}

static void
test_lull(void)
{
	double		room = 900;
	int			foreseen = 0;

	begin();
	rest(room, 20);
	for (int i = 0; i < 16; i++)
	{
		take(&room, 40, 1);
		foreseen = 0;
		for (int second = 0; second < 9; second++)
			foreseen += look(room);
	}
	ok(foreseen == 9, "growth in steps goes on between them");
	ok(is_left(room / 4, 0.3), "at the rate of several");
	ok(!rest(room, 20), "until a step does not come");
}

static void
test_doubling(void)
{
	double		taken = 10;
	int			right = 0;
	int			count = 0;

	begin();
	rest(900, 20);

	/* a seventh more each second */
	while (taken * 8 / 7.0 < 880)
	{
		taken *= 8 / 7.0;
		if (!look(900 - taken))
			continue;
		count++;
		right += is_left(log(900 / taken) / log(8 / 7.0), 1 / 3.0);
	}
	ok(count >= 5 && right == count, "growth that becomes faster is foreseen to do so");
}

static void
test_cache(void)
{
	double		room = 900;

	begin();
	rest(room, 20);

	/* it fills up: a hundredth of what is missing to 600 each second */
	for (int i = 0; i < 600; i++)
		look(room -= (room - 300) / 100);
	ok(!look(room), "growth that becomes slower and slower is not foreseen to go on");
}

/* Any number, the same in each run. */
static double
any(double most)
{
	static uint64 state = 1;

	state = state * UINT64CONST(6364136223846793005) + UINT64CONST(1442695040888963407);
	return ldexp(state >> 11, -53) * most;
}

static void
test_up_and_down(void)
{
	int			count = 0;

	begin();
	for (int i = 0; i < 3600; i++)
		count += look(700 - any(200));
	ok(count == 0, "an hour of work that takes and gives back is nothing");
	begin();
	for (int i = 0; i < 3600; i++)
		count += look(700 - 10 * (i % 20));
	ok(count == 0, "nor is work that takes a quarter of the room again and again");
	begin();
	for (int i = 0; i < 3600; i++)
		count += look(700 - 15 * (i % 20)) && i >= 20;
	ok(count == 0, "if it takes more of it, it is foreseen to go on only once");
}

static void
test_slow(void)
{
	double		room = 900;

	begin();
	rest(room, 20);
	ok(take(&room, 0.01, 20000) == 0, "what would take more than some hours is not foreseen");
	ok(course.count == PLH_MEMORY_LOOKS, "a course has a certain length");
	ok(course.looks[course.count - 1].at_us - course.looks[0].at_us <= PLH_MEMORY_FARTHEST_US + SECOND,
	   "and is not older than that");
	ok(take(&room, 2, 200) > 0 && is_left(room / 2, 0.1), "what becomes faster then is");
}

/* Memory that is promised to buffers. */
static void
test_promised(void)
{
	double		room = 900;
	double		promised = 300;
	int			count = 0;

	begin();
	for (int i = 0; i < 150; i++)
		count += look_at(room -= 2, promised -= 2);
	ok(count == 0, "what takes no more than was promised to it is no growth");
	begin();
	room = 900;
	promised = 300;
	for (int i = 0; i < 200; i++)
		count += look_at(room -= 3, promised);
	ok(count > 0 && is_left(room / 3, 0.05), "what is promised, and not taken, is room for others");
	begin();
	room = 900;
	promised = 300;
	for (int i = 0; i < 100; i++)
		look_at(room -= 5, promised -= 2);
	ok(is_left((room - promised) / 3, 0.05), "if it is taken meanwhile, the rest is");
	begin();
	room = 900;
	promised = 600;
	for (int i = 0; i < 130; i++)
		look_at(room -= 5, promised -= 2);
	ok(is_left(room / 5, 0.05), "as far as it is taken until then");
}

static void
test_limit(void)
{
	double		room = 600;

	begin();
	rest(room, 20);
	take(&room, 10, 30);
	ok(look(room -= 10), "of one limit something is foreseen");
	now_us += SECOND;
	note(LIMIT / 2, room, 0);
	ok(!plh_memory_course_foresee(&course, &forecast) && course.count == 1, "another limit is another course");
	note(LIMIT / 2, room, 0);
	ok(course.count == 1, "and so is a clock that does not go on");
	ok(plh_memory_course_left_us(&course) == PG_INT64_MAX, "one look leaves any time");
	now_us += SECOND;
	note(LIMIT / 2, room / 2, 0);
	ok(plh_memory_course_left_us(&course) == SECOND, "two that took half leave as much again");
}

void
test_memory_courses(void)
{
	test_steady();
	test_ended();
	test_forgotten();
	test_lull();
	test_doubling();
	test_cache();
	test_up_and_down();
	test_slow();
	test_promised();
	test_limit();
}
