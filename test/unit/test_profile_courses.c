/*
 * test_profile_courses.c
 *	  The owner's side of courses: what is followed, since when, and what is not.
 */
#include "postgres.h"

#include <time.h>

#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_courses.h"
#include "profile/profile_image.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "births.h"
#include "unit_tests.h"

#define MB INT64CONST(1048576)

/* The point that is added next. */
static uint32 point;

static void
begin(int max_profile_size)
{
	plh_load_settings.max_profile_size = max_profile_size;
	plh_profile_courses_forget();
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	point = 0;
}

static void
end(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_profile_courses_forget();
	plh_load_settings.max_profile_size = 1024 * 1024;
}

/* Let contexts of that number's name hold so much. */
static PlhContextRecord *
hold(int number, int64 bytes, int64 instances)
{
	char		name[32];
	PlhContextRecord *contexts;

	snprintf(name, sizeof(name), "contexts %d", number);
	contexts = plh_profile_context(plh_profile_string(name, PLH_CONTEXT_NAME_MAX), 0);
	contexts->bytes = bytes;
	contexts->instances = instances;
	return contexts;
}

/* A site of that number, which holds nothing. */
static PlhSiteRecord *
make_site(int number)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};

	stack.addresses = stack.buffer;
	stack.depth = 3;
	for (int i = 0; i < stack.depth; i++)
		stack.buffer[i] = 0x1000 * (number + 1) + i;
	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	return plh_profile_records_at(plh_profile_site(&key));
}

/* Allocate so much at a site, or free it. */
static void
allocate(PlhSiteRecord *site, int64 bytes)
{
	PlhDraw		exact = {.interval_bytes = 1};
	uint32		offset = plh_profile_records_offset(site);

	if (bytes > 0)
		plh_profile_counters_add(offset, bytes, 0, exact);
	else
		subtract_oldest(offset, -bytes, exact);
}

/* Add a point as the census does. */
static void
add_point(void)
{
	if (point == PLH_HISTORY_POINTS)
	{
		uint8		kept[PLH_HISTORY_POINTS / 2];

		for (point = 0; point < lengthof(kept); point++)
			kept[point] = 2 * point;
		plh_profile_courses_keep(kept, point);
	}
	plh_profile_courses_add_point(point);
	plh_profile->history_count = ++point;
}

/* The course of a record, as a reader finds it; NULL if it has none. */
static const PlhCourseRecord *
course_of(const void *record)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhCourseRecord *course;
	uint32		position = 0;

	while ((course = plh_profile_image_next_course(image, &position)) != NULL)
	{
		if (course->followed == plh_profile_records_offset(record))
			return course;
	}
	return NULL;
}

static int
count_courses(void)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	uint32		position = 0;
	int			count = 0;

	while (plh_profile_image_next_course(image, &position) != NULL)
		count++;
	return count;
}

/* The kilobytes at a point of what has a course; -1: not followed. */
static int64
kilobytes(const void *record, int at)
{
	const PlhCourseRecord *course = course_of(record);

	return course == NULL ? -2 : (int64) course->kilobytes[at] - 1;
}

static void
test_small_processes(void)
{
	uint32		used;

	begin(1024 * 1024);
	hold(0, 5 * MB, 1);
	hold(1, MB - 1, 1);
	allocate(make_site(0), MB - 1);
	used = plh_profile->used_bytes;
	add_point();
	ok(count_courses() == 0, "a process with one point has no course");
	add_point();
	ok(count_courses() == 1 && course_of(hold(0, 5 * MB, 1)) != NULL,
	   "what holds less than a megabyte has no course");
	printf("# a course of contexts takes %u bytes\n", plh_profile->used_bytes - used);
	used = plh_profile->used_bytes;
	allocate(make_site(0), 1);
	add_point();
	ok(count_courses() == 2, "what holds a megabyte has a course");
	printf("# a course of a site takes %u bytes\n", plh_profile->used_bytes - used);
	end();
}

static void
test_figures(void)
{
	PlhContextRecord *contexts;
	PlhSiteRecord *site;

	begin(1024 * 1024);
	contexts = hold(0, 0, 0);
	site = make_site(0);
	add_point();
	hold(0, 2 * MB, 7);
	allocate(site, 3 * MB);
	add_point();
	hold(0, 0, 0);
	allocate(site, -3 * MB);
	add_point();
	ok(kilobytes(contexts, 0) == -1 && kilobytes(site, 0) == -1,
	   "a point before a course is not 0");
	ok(kilobytes(contexts, 1) == 2048 && kilobytes(site, 1) == 3072,
	   "a course has the kilobytes of a point");
	ok(kilobytes(contexts, 2) == 0 && kilobytes(site, 2) == 0,
	   "what holds nothing any more is followed still");
	ok(course_of(contexts)->contexts[1] == 1 + 7 &&
	   course_of(contexts)->contexts[2] == 1,
	   "a course has the number of contexts");
	contexts->bytes = PG_INT64_MAX;
	contexts->instances = -1;
	add_point();
	ok(kilobytes(contexts, 3) == (int64) PG_UINT32_MAX - 1 &&
	   course_of(contexts)->contexts[3] == 1, "figures beyond all bounds are cut");
	end();
}

/* Each kind of points that the history keeps. */
static void
test_thinning(void)
{
	PlhContextRecord *contexts;
	bool		kept = true;

	begin(1024 * 1024);
	contexts = hold(0, 0, 0);
	add_point();
	for (int i = 1; i < PLH_HISTORY_POINTS; i++)
	{
		hold(0, (1024 + i) * 1024, i);
		add_point();
	}
	hold(0, 5000 * 1024, 9999);
	add_point();
	for (int i = 1; i < PLH_HISTORY_POINTS / 2; i++)
		kept &= kilobytes(contexts, i) == 1024 + 2 * i &&
			course_of(contexts)->contexts[i] == 1 + 2 * i;
	ok(kept, "every other point of a course stays when the history is full");
	ok(point == PLH_HISTORY_POINTS / 2 + 1 &&
	   kilobytes(contexts, PLH_HISTORY_POINTS / 2) == 5000 &&
	   course_of(contexts)->contexts[PLH_HISTORY_POINTS / 2] == 1 + 9999,
	   "a course goes on behind the points that stay");
	ok(kilobytes(contexts, 0) == -1, "a point before a course is not 0 when the history was full");
	end();
}

/* Others that hold more take the places of those that hold least. */
static void
test_takeover(void)
{
	PlhContextRecord *least;
	PlhContextRecord *other;
	uint32		rounds;

	begin(1024 * 1024);
	add_point();
	for (int i = 0; i < PLH_COURSES; i++)
		hold(i, (20 + i) * MB, 1);
	least = hold(0, 10 * MB, 1);
	add_point();
	ok(count_courses() == PLH_COURSES, "the largest contexts have courses");
	other = hold(PLH_COURSES, 19 * MB, 1);
	add_point();
	ok(course_of(other) == NULL && course_of(least) != NULL,
	   "what holds a little more than others has no course");
	rounds = plh_profile->round;
	hold(PLH_COURSES, 25 * MB, 1);
	add_point();
	ok(course_of(other) != NULL && course_of(least) == NULL &&
	   count_courses() == PLH_COURSES,
	   "what holds twice as much takes the place of the course that holds least");
	ok(kilobytes(other, 2) == -1 && kilobytes(other, 3) == 25 * 1024,
	   "a course that takes the place of another has none of its points");
	ok(rounds == plh_profile->round, "the room of a course is not used again at once");

	/* two that hold more by turns, again and again */
	for (int i = 0; i < 2000; i++)
	{
		hold(0, i % 2 == 0 ? 90 * MB : 0, 1);
		hold(PLH_COURSES, i % 2 == 0 ? 0 : 90 * MB, 1);
		add_point();
	}
	printf("# the profile takes %u bytes\n", plh_profile->used_bytes);
	ok(count_courses() == PLH_COURSES && plh_profile->courses_refused == 0 &&
	   plh_profile->used_bytes < 800 * 1024,
	   "the room of courses that were given up is used again");
	end();
}

/* Sites that are given up, and others in their place. */
static void
test_sites_over(void)
{
	PlhSiteRecord *site;
	PlhSiteRecord *other;
	int			followed = 0;

	begin(2 * 1024 * 1024);
	add_point();
	site = make_site(0);
	allocate(site, 2 * MB);
	add_point();
	ok(kilobytes(site, 1) == 2048, "a large site has a course");
	site->key.stack = PLH_FORMER_STACKS;
	add_point();
	ok(kilobytes(site, 2) == -1, "the course of a site that has another key is over");
	for (int i = 0; i < PLH_COURSES; i++)
		allocate(make_site(i + 1), 2 * MB);
	add_point();
	for (int i = 0; i < PLH_COURSES; i++)
		followed += course_of(make_site(i + 1)) != NULL;
	ok(followed == PLH_COURSES && count_courses() == PLH_COURSES,
	   "a course that is over gives its place to another");
	other = make_site(1);
	other->record.born++;
	add_point();
	ok(kilobytes(other, 3) == -1 && kilobytes(other, 4) == 2048,
	   "a site that takes the place and the key of another has a course of its own");
	end();
}

/* A large site behind many small ones, in a profile whose records come and go. */
static void
test_search(void)
{
	const int	many = 8000;
	PlhSiteRecord *last = NULL;
	int			points = 0;

	begin(8 * 1024 * 1024);
	for (int i = 0; i < many; i++)
		allocate(last = make_site(i), 100);
	allocate(last, 2 * MB);
	printf("# the profile takes %u bytes\n", plh_profile->used_bytes);
	add_point();
	while (course_of(last) == NULL && points++ < 8)
	{
		add_point();
		plh_profile_recycling_suspend();
		plh_profile_recycling_resume();
	}
	ok(course_of(last) != NULL && points > 1,
	   "a large site is found wherever it is, in several points");
	end();
}

/* A walk over records, the next of which is joined with the free one before it. */
static void
test_steps(void)
{
	const PlhRecord *record;
	uint32		offsets[3];

	begin(1024 * 1024);
	for (int i = 0; i < lengthof(offsets); i++)
		offsets[i] = plh_profile_records_add(plh_profile_records_take(1024),
											 PLH_RECORD_COURSE, 1024, 0);
	do
		record = plh_profile_records_step();
	while (plh_profile_records_offset(record) != offsets[0]);
	plh_profile_records_give_up(offsets[0]);
	plh_profile_records_give_up(offsets[1]);
	ok(plh_profile_records_join(offsets[0]) &&
	   plh_profile_records_offset(plh_profile_records_step()) == offsets[2],
	   "a walk over records passes over one that was joined with another");
	ok(plh_profile_records_step() == NULL &&
	   plh_profile_records_step() != NULL, "a walk over records begins again behind its end");
	end();
}

static void
test_no_room(void)
{
	PlhContextRecord *contexts;
	Size		in_use;

	begin(128 * 1024);
	contexts = hold(0, 5 * MB, 1);
	add_point();
	in_use = plh_profile_records_bytes_in_use();
	plh_profile_records_limit(in_use + 1024);
	add_point();
	ok(count_courses() == 0 && plh_profile->courses_refused == 1,
	   "without room there is no course, and that is told");
	ok(plh_profile_records_bytes_in_use() == in_use,
	   "a course without room takes none");
	plh_profile_records_limit(0);
	add_point();
	ok(kilobytes(contexts, 2) == 5 * 1024 && plh_profile->courses_refused == 0,
	   "a course begins when there is room again");
	end();
}

/* What a point takes in the worst case. */
static void
measure(int sites, const char *what)
{
	const int	repeats = 2000;
	struct timespec started,
				ended;

	begin(8 * 1024 * 1024);
	for (int i = 0; i < 60; i++)
		hold(i, i < PLH_COURSES && sites > 0 ? (20 + i) * MB : 1000, 1);
	for (int i = 0; i < sites; i++)
		allocate(make_site(i), i < PLH_COURSES ? 2 * MB : 100);
	add_point();
	add_point();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &started);
	for (int i = 0; i < repeats; i++)
		add_point();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
	printf("# a point takes %.1f us %s (%d courses, %u bytes)\n",
		   ((ended.tv_sec - started.tv_sec) * 1e6 +
			(ended.tv_nsec - started.tv_nsec) / 1e3) / repeats,
		   what, count_courses(), plh_profile->used_bytes);
	end();
}

void
test_profile_courses(void)
{
	test_small_processes();
	test_figures();
	test_thinning();
	test_takeover();
	test_sites_over();
	test_search();
	test_steps();
	test_no_room();
	measure(0, "in a small process");
	measure(500, "with 500 sites");
	measure(8000, "with 8000 sites");
}
