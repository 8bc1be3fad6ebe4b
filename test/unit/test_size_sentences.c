/*
 * test_size_sentences.c
 *	  What is said of a process' size, and of how it became what it is.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "report/death_text.h"
#include "report/words.h"
#include "suspect_facts.h"
#include "telling/moment.h"
#include "unit_tests.h"
#include "telling/size_sentences.h"

#define SECONDS(n) (SOME_TIME + (n) * USECS_PER_SEC)

/* What needs the server. */
char *
plh_words_span(TimestampTz from, TimestampTz to)
{
	return psprintf("%.1f s", ((double) to - (double) from) / USECS_PER_SEC);
}

char *
plh_death_text(const PlhDeath *death)
{
	return NULL;
}

static PlhProfileHeader header;
static PlhProfileImage image;
static PlhExplainedProcess process;
static PlhCourse course;
static PlhSaid told;

/* A process of 100 MB, which was counted 4 s ago, 40 s after it began. */
static void
set_process(void)
{
	memset(&header, 0, sizeof(header));
	header.census_at = SECONDS(40);
	header.context_bytes = 95 * MB;
	header.context_free_bytes = -1;
	header.malloc_bytes = 98 * MB;
	header.own_bytes = 100 * MB;
	image = (PlhProfileImage)
	{
		.header = &header,.alive = true
	};
	process = (PlhExplainedProcess)
	{
		.image = &image,.rss_anon_bytes = 100 * MB,.now = SECONDS(44)
	};
	course = (PlhCourse)
	{
		.bytes = 100 * MB,.now = SECONDS(44),.rests_since = SECONDS(44)
	};
}

/* Is that said, and nothing else? */
static bool
is_said(const char *expected)
{
	if (strcmp(told.text.data, expected) == 0)
		return true;
	printf("# it says: %s\n", told.text.data);
	return false;
}

static bool
parts_say(const char *expected)
{
	PlhAccount	account = {0};

	plh_sentences_begin(&told);
	plh_size_sentences_say_parts(&told, &process, &account);
	if (strstr(told.text.data, expected) != NULL)
		return true;
	printf("# it says: %s\n", told.text.data);
	return false;
}

/* Is that said of memory contexts with these sizes, in MB, of a process with 95 MB? */
static bool
kinds_say(const int *megabytes, int count, const char *expected)
{
	PlhFamilyAccount families[8] = {0};
	PlhAccount	account = {
		.context_bytes = 95 * MB,
		.families = families,
		.family_count = count
	};

	for (int i = 0; i < count; i++)
	{
		families[i].family = plh_family_of("CachedPlanSource");
		families[i].bytes = megabytes[i] * MB;
		families[i].contexts = i + 1;
	}
	set_process();
	process.now = SECONDS(41);
	plh_sentences_begin(&told);
	plh_size_sentences_say_parts(&told, &process, &account);
	if (strstr(told.text.data, expected) != NULL)
		return true;
	printf("# it says: %s\n", told.text.data);
	return false;
}

/* Only the largest kinds are told, and what the others have together. */
static void
test_kinds(void)
{
	const int	many[] = {30, 20, 15, 10, 6};
	const int	few[] = {80, 4, 3};
	const int	all[] = {95};
	const char *title = plh_family_of("CachedPlanSource")->title;

	ok(kinds_say(many, 5, psprintf("Memory contexts by kind: 30000000 B for %s, 20000000 B for %s (2 contexts), 15000000 B for %s (3 contexts), 10000000 B for %s (4 contexts), 20000000 B in others.",
								   title, title, title, title)), "four kinds of contexts are told at most");
	ok(kinds_say(few, 3, psprintf("Memory contexts by kind: 80000000 B for %s, 15000000 B in others.", title)),
	   "and none that has less than a twentieth");
	ok(kinds_say(all, 1, psprintf("Memory contexts by kind: 95000000 B for %s.", title)), "no others are told where there are none");
}

static bool
course_says(const char *expected)
{
	plh_sentences_begin(&told);
	plh_size_sentences_say_course(&told, &process, &course);
	return is_said(expected);
}

/* A count of now is told as what the process has. */
static void
test_parts(void)
{
	set_process();
	process.now = SECONDS(41);
	header.malloc_free_bytes = 1 * MB;
	header.context_free_bytes = 2 * MB;
	ok(parts_say("It has 95000000 B in memory contexts, 3000000 B from malloc outside of them, and 1000000 B of freed memory that malloc keeps. Of the memory in contexts, 2000000 B is free space inside them. 1000000 B is elsewhere."),
	   "the parts of a process are told");
	header.malloc_free_bytes = header.context_free_bytes = 0;
	ok(parts_say("It has 95000000 B in memory contexts and 3000000 B from malloc outside of them. 2000000 B is elsewhere."),
	   "but no part that is nothing");
	header.own_bytes = 35 * MB;
	process.rss_anon_bytes = 82 * MB;
	ok(parts_say("outside of them; 63000000 B of that takes no memory yet, as it was not written to.") &&
	   plh_moment_own_bytes(&process) == 35 * MB,
	   "parts that are more than the whole of that moment have the reason with them");
}

/* One of another moment begins with that, and nothing is compared with it. */
static void
test_moments(void)
{
	set_process();
	ok(!plh_moment_is_now(&process) &&
	   parts_say("When it last counted its memory, 3 ticks ago, it had 95000000 B in memory contexts and 3000000 B from malloc outside of them. 2000000 B was elsewhere. Its private memory was 100000000 B then."),
	   "parts of another moment are told as of then");
	process.rss_anon_bytes = 147 * MB;
	ok(parts_say("Its private memory was 100000000 B then. What it has allocated and freed since is not known.") &&
	   !plh_moment_has_lost(&process, 200 * MB), "what came since is in none of them");
	process.rss_anon_bytes = 20 * MB;
	ok(parts_say("What it has allocated and freed since is not known.") &&
	   plh_moment_has_lost(&process, 21 * MB) && !plh_moment_has_lost(&process, 19 * MB),
	   "what a process that has become smaller can't have is known");
	process.state = "idle in transaction";
	process.state_since = SECONDS(40);
	ok(!plh_moment_is_now(&process), "nor is it of now if the session became idle then, and is smaller");
	process.rss_anon_bytes = 100 * MB + 1000;
	ok(plh_moment_is_now(&process) && plh_moment_own_bytes(&process) == 100 * MB + 1000 &&
	   parts_say("It has 95000000 B in memory contexts"), "a session that has done nothing since its count has what it had then");
	process.state_since = SECONDS(43);
	ok(!plh_moment_is_now(&process), "but not one that has worked since");
	header.own_bytes = 35 * MB;
	image.alive = false;
	ok(!plh_moment_is_now(&process) &&
	   parts_say("outside of them; 63000000 B of that took no memory yet, as it was not written to."),
	   "what was not written to is told of a process that is gone");
}

/* A tick is a little more than a second. */
static void
test_growth(void)
{
	set_process();
	course.grown_bytes = 60 * MB;
	course.grown_since = SECONDS(34);
	ok(course_says("Private memory has grown by 60000000 B in the 10.0 s since second 34 (6000000 B/s)."),
	   "growth up to now is told with its rate");
	course.grown_bytes = 60 * 1000;
	ok(course_says("Private memory has grown by 60000 B in the 10.0 s since second 34 (6000 B/s)."),
	   "slow growth of seconds has no rate per hour");
	course.grown_since = SECONDS(44 - 299);
	ok(course_says("Private memory has grown by 60000 B in the 299.0 s since second -255 (200 B/s)."),
	   "nor has that of less than five minutes");
	course.grown_since = SECONDS(44 - 300);
	ok(course_says("Private memory has grown by 60000 B in the 300.0 s since second -256 (720000 B/h)."),
	   "that of five minutes has");
	course.grown_bytes = 60 * MB;
	course.grown_since = SECONDS(34);
	course.rests_since = SECONDS(36);
	ok(course_says("Private memory grew by 60000000 B from second 34 on, within 2.0 s (30000000 B/s). It has hardly changed in the 7 ticks since."),
	   "growth that is over does not read as if it lasted until now");
	course.rests_since = SECONDS(34) + 1;
	ok(course_says("Private memory grew by 60000000 B within a second at second 34. It has hardly changed in the 9 ticks since."),
	   "growth of a moment has no rate");
	course.rests_since = SECONDS(40);
	image.alive = false;
	ok(course_says("Private memory had grown by 60000000 B from second 34 on, within 6.0 s (10000000 B/s). It had hardly changed in the 3 ticks since."),
	   "growth of a process that is gone is in the past");
}

static void
test_unfinished_growth(void)
{
	set_process();
	course.grown_bytes = 60 * MB;
	course.grown_since = SECONDS(34);
	course.end_unknown = true;
	header.own_bytes = 55 * MB;
	ok(course_says("Private memory has grown by 60000000 B since second 34, 45000000 B of that since the last count, 3 ticks ago. Whether it still grows is not known."),
	   "whether it grows is not known where the last count was long ago");
	course.grown_since = SECONDS(40);
	process.rss_anon_bytes = header.own_bytes;
	ok(course_says("Private memory has grown by 60000000 B since second 40. Whether it still grows is not known."),
	   "growth that began with the last count has no part after it");
	process.rss_anon_bytes = 115 * MB;
	ok(course_says(""), "and is not told again where that has been told");
}

static void
test_falls(void)
{
	set_process();
	course.fallen_bytes = 30 * MB;
	course.fallen_since = SECONDS(41);
	ok(course_says("Private memory has fallen by 30000000 B in the last 2 ticks."), "a fall is told");
	course.fallen_since = SECONDS(44) - 300000;
	ok(course_says("Private memory has fallen by 30000000 B in the last second."), "a fall of a moment does not last 0 s");
	course.fallen_since = header.census_at;
	process.rss_anon_bytes = 70 * MB;
	ok(course_says(""), "the fall since the last count is told with that");
	process.rss_anon_bytes = 100 * MB;
	course.rests_since = SECONDS(20);
	course.fallen_since = SECONDS(12);
	ok(course_says("Private memory was 30000000 B larger 30 ticks ago; it has hardly changed in the last 22 ticks."),
	   "a fall is told before the rest after it");
	course.rests_since = course.fallen_since;
	ok(course_says("Private memory fell by 30000000 B 30 ticks ago, and has hardly changed since."),
	   "a fall after which all is at rest is one sentence");
	course.rests_since = SECONDS(20);
	course.rests_since = SECONDS(44);
	course.grown_bytes = 20 * MB;
	course.grown_since = SECONDS(34);
	ok(course_says("Private memory was 30000000 B larger 30 ticks ago.\nPrivate memory has grown by 20000000 B in the 10.0 s since second 34 (2000000 B/s)."),
	   "a fall is told before the growth after it");
	image.alive = false;
	course.grown_bytes = 0;
	course.fallen_since = SECONDS(41);
	ok(course_says("Private memory had fallen by 30000000 B in the 2 ticks before the last count."),
	   "a fall of a process that is gone ends with its last count");
	course.fallen_bytes = 0;
	course.rests_since = SECONDS(20);
	ok(course_says("Private memory had hardly changed for 22 ticks."), "a process that was at rest is gone");
	course.rests_since = SECONDS(44);
	ok(course_says(""), "a process that is as it was, for a moment, has no course");
}

void
test_size_sentences(void)
{
	test_parts();
	test_moments();
	test_kinds();
	test_growth();
	test_unfinished_growth();
	test_falls();
}
