/*
 * test_census.c
 *	  How often a process takes a census: by clocks that the test sets.
 */
#include "postgres.h"

#include <time.h>

#include "base/process_facts.h"

static int	census_clock(clockid_t clock, struct timespec *now);
static int64 census_own_bytes(void);
static int64 census_touched_bytes(void);

#define clock_gettime census_clock
#define plh_process_facts_own_bytes census_own_bytes
#define plh_process_facts_touched_bytes census_touched_bytes
#include "sampler/census_count.c"
#include "sampler/census.c"
#undef plh_process_facts_touched_bytes
#undef plh_process_facts_own_bytes
#undef clock_gettime

#include "profile/profile_image.h"
#include "server.h"
#include "unit_tests.h"

static uint64 wall_us = 1000000;
static uint64 cpu_us;

/* The process' own memory, and how often it was looked at. */
static int64 own_bytes = 10 * 1000 * 1000;
static int	own_looks;

static int64
census_own_bytes(void)
{
	own_looks++;
	return own_bytes;
}

/* What was touched is more, as the same page may be freed and touched again. */
static int64 touched_again;

static int64
census_touched_bytes(void)
{
	return touched_again < 0 ? -1 : own_bytes + touched_again;
}

/* What core says of a context that has nothing else. */
static void
census_stats(MemoryContext context, MemoryStatsPrintFunc print, void *arg,
			 MemoryContextCounters *totals, bool print_to_stderr)
{
	totals->freespace += context->mem_allocated / 4;
}

static const MemoryContextMethods census_methods = {.stats = census_stats};

/* What one look at the processor's time adds to it, so that a census takes as much. */
static uint64 census_us;

static int
census_clock(clockid_t clock, struct timespec *now)
{
	uint64		us = wall_us;

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		us = cpu_us += census_us;
	now->tv_sec = us / 1000000;
	now->tv_nsec = us % 1000000 * 1000;
	return 0;
}

/* Is a census taken so much later, where it would take so long? */
static bool
is_taken_after(uint64 later_us, uint64 takes_us)
{
	wall_us += later_us;
	census_us = takes_us;
	return plh_census_take_if_older(10000, false);
}

/* Is one taken after that time, though it is not the time for one? */
static bool
is_taken_early(uint64 later_us)
{
	wall_us += later_us;
	census_us = 20;
	return plh_census_take_if_older(1000000, false);
}

/* Is one taken at once when the process becomes idle? */
static bool
is_taken_when_idle(uint64 takes_us)
{
	census_us = takes_us;
	return plh_census_take_at_reset(TopMemoryContext, 1000000);
}

/* Is one taken at a commit, where it has to be brief? */
static bool
is_taken_at_commit(uint64 later_us, uint64 takes_us)
{
	wall_us += later_us;
	census_us = takes_us;
	return plh_census_take_if_older(10000, true);
}

/*
 * A walk over many contexts does not hold up a commit.  In this test a look at
 * the clock costs what the contexts since the last one do: 100 us, as in life.
 */
static void
test_commits(MemoryContext few)
{
	static MemoryContextData many[60000];
	TimestampTz counted_at;
	uint64		cpu_before;

	plh_census_forget();
	ok(is_taken_at_commit(0, 100), "few contexts are counted at a commit");
	counted_at = plh_profile->census_at;
	for (int i = 0; i < lengthof(many); i++)
	{
		many[i].type = T_AllocSetContext;
		many[i].name = "many";
		many[i].methods = &census_methods;
		many[i].parent = TopMemoryContext;
		many[i].nextchild = i == 0 ? NULL : &many[i - 1];
	}
	few->nextchild = &many[lengthof(many) - 1];
	statement_start = counted_at + 1;

	cpu_before = cpu_us;
	ok(!is_taken_at_commit(1000000, 100), "many contexts are not counted at a commit");
	ok(cpu_us - cpu_before <= 2200, "a census at a commit is given up after 2 ms");
	cpu_before = cpu_us;
	ok(!is_taken_at_commit(1000000, 100) && cpu_us - cpu_before <= 2200,
	   "a census without free bytes is given up at a commit, too");
	ok(plh_profile->context_count == 2 && plh_profile->context_bytes == 9216 &&
	   plh_profile->census_at == counted_at,
	   "the figures stay those of the last census, and say when that was");
	cpu_before = cpu_us;
	ok(!is_taken_at_commit(1000000, 100) && cpu_us == cpu_before,
	   "a census that was given up is not tried again at the next commit");
	ok(is_taken_after(0, 5000) && plh_profile->context_count == 60002 &&
	   plh_profile->census_at == statement_start, "a sample counts the contexts that a commit did not");
	ok(!is_taken_at_commit(5000, 5000) && !plh_census_is_missing(),
	   "a commit misses no census that is not due");
	cpu_before = cpu_us;
	ok(!is_taken_at_commit(20000000, 5000) && cpu_us == cpu_before,
	   "a census at a sample tells commits how long they would take");
	ok(plh_census_is_missing(), "a census that a commit does not try is missing");
	few->nextchild = NULL;
	ok(is_taken_after(0, 100) && plh_profile->context_count == 2 &&
	   is_taken_at_commit(1000000, 100), "commits count contexts again when the many are gone");
	ok(plh_profile->context_free_bytes == 9216 / 4, "free bytes are counted again when the many are gone");
	ok(is_taken_after(1000000, 900) && is_taken_at_commit(1000000, 1100) &&
	   plh_profile->context_free_bytes >= 0 &&
	   is_taken_at_commit(1000000, 300) && plh_profile->context_free_bytes == -1,
	   "free bytes are not counted where they have taken a commit a millisecond");
	ok(is_taken_after(1000000, 20000) && plh_profile->context_free_bytes >= 0 &&
	   is_taken_after(19000000, 20) && plh_profile->context_free_bytes == -1 &&
	   is_taken_after(1100000, 20) && plh_profile->context_free_bytes >= 0,
	   "free bytes that have taken a sample ten milliseconds are counted once in a while");
}

/* A process that changes fast, and then no more, has the figures of its end. */
static void
test_changes(void)
{
	int			censuses = 0;
	int64		counted = 0;
	int64		worst = 0;

	plh_census_forget();
	plh_profile->counters.live_bytes = 0;
	ok(is_taken_after(0, 20) && !is_taken_after(1000, 20), "a census is not repeated within a millisecond");
	for (int i = 0; i < 1000; i++)
	{
		/* 100 MB in a second */
		plh_profile->counters.live_bytes += 100000;
		if (is_taken_after(1000, 100))
		{
			censuses++;
			counted = plh_profile->counters.live_bytes;
		}
		worst = Max(worst, plh_profile->counters.live_bytes - counted -
					Max(counted / 5, 1024 * 1024));
	}
	printf("# %d censuses while 100 MB were allocated\n", censuses);
	ok(worst <= 100000, "a census is taken before its figures are off by a fifth");
	counted = plh_profile->counters.live_bytes;
	ok(is_taken_early(1000000) && !is_taken_early(20000), "a process at rest has no early census");
	plh_profile->counters.live_bytes = counted / 2;
	ok(is_taken_early(0), "memory that is freed leads to a census");
	plh_profile->counters.live_bytes = 1000;
	ok(is_taken_early(0), "memory that is freed altogether leads to a census");
	plh_profile->sample_interval = 512 * 1024;
	plh_profile->counters.live_bytes = PLH_COARSE_BYTES / 2;
	ok(!is_taken_early(0), "one sample of a statement leads to no census");
	plh_profile->counters.live_bytes += PLH_COARSE_BYTES / 2 + 1000;
	ok(is_taken_early(0), "two samples of a statement lead to a census");
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] = 7 * 512 * 1024;
	ok(is_taken_early(0), "a few samples of a session lead to a census");
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] += 512 * 1024;
	ok(!is_taken_early(0), "one sample of a session leads to no census");
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] = 0;
	ok(is_taken_early(0), "the end of what a session held leads to a census");
	plh_profile->sample_interval = 0;
	own_bytes = own_bytes * 3 / 2;
	ok(is_taken_early(20000), "growth outside of contexts leads to a census");
	own_bytes = own_bytes * 2;
	ok(!is_taken_early(5000) && is_taken_early(10000),
	   "growth outside of contexts is looked for a hundred times a second");
	(void) is_taken_early(1000000);
	own_looks = 0;
	ok(!is_taken_early(20000) && !is_taken_early(20000) && own_looks == 0,
	   "growth outside of contexts is not looked for where there can be none");
	own_bytes += 1000 * 1000;
	touched_again = OUTDATED_BYTES - 1000 * 1000 - 1;
	ok(!is_taken_early(20000) && own_looks == 0, "growth outside of contexts is not looked for if there is too little");
	touched_again++;
	ok(!is_taken_early(20000) && own_looks == 1 && !is_taken_early(20000) &&
	   own_looks == 1, "growth outside of contexts is looked for once");
	for (int i = 0; i < 40 && own_looks < 100; i++)
	{
		own_bytes += 500 * 1000;
		if (is_taken_early(20000))
			own_looks = 100;
	}
	ok(own_looks == 100, "growth outside of contexts adds up");
	own_looks = 0;
	touched_again = -1;
	ok(!is_taken_early(20000) && own_looks == 1,
	   "growth outside of contexts is looked for if the kernel does not tell");
	touched_again = 0;

	/* up and down within each millisecond, where a census takes 500 us */
	censuses = 0;
	for (int i = 0; i < 100000; i++)
	{
		plh_profile->counters.live_bytes = i % 2 == 0 ? counted : 0;
		censuses += is_taken_after(1000, 500);
	}
	printf("# %d us for censuses in 100 s\n", 500 * censuses);
	ok(500 * censuses >= 90000 &&
	   500 * censuses <= 100000 + CREDIT_MAX_US + 500,
	   "all censuses together take a thousandth of the time");

	/* all credit is spent now */
	plh_profile->counters.live_bytes = state.schedule.counted_live_bytes == 0 ? counted : 0;
	ok(!is_taken_early(0) && plh_census_is_missing(), "a census without credit is missing");
	ok(is_taken_when_idle(500) && !plh_census_is_missing(),
	   "a process that becomes idle is counted all the same");
	censuses = 0;
	for (int i = 0; i < 1000; i++)
	{
		wall_us += 1000;
		plh_profile->counters.live_bytes = i % 2 == 0 ? counted : 0;
		censuses += is_taken_when_idle(500);
	}
	printf("# %d us for censuses in a second\n", 500 * censuses);
	ok(censuses > 0 && 500 * censuses <= 100000,
	   "one that becomes idle again and again is not counted for more than a tenth of the time");
	plh_profile->counters.live_bytes = 0;

	/* a library has freed what no sample was of */
	(void) is_taken_when_idle(20);
	wall_us += 20000000;
	(void) is_taken_early(0);
	own_bytes = own_bytes / 2;
	touched_again += own_bytes;
	ok(!is_taken_early(20000), "what a library frees is not looked for at each sample");
	ok(is_taken_when_idle(20), "but when the process becomes idle");
	touched_again = 0;
}

/* Somebody asks in a loop. */
static void
test_asked(void)
{
	int64		spent_us;
	int			censuses = 0;

	plh_census_forget();
	census_us = 20;
	ok(plh_census_take_if_asked(NULL) && !plh_census_take_if_asked(NULL), "a census of this moment stands for another");
	wall_us += 20000;
	spent_us = state.schedule.spent_us;
	ok(plh_census_take_if_asked(NULL) && state.schedule.spent_us <= spent_us,
	   "one that somebody has asked for leaves credit for others");
	(void) plh_census_take_if_older(0, false);
	wall_us += 900000;
	(void) plh_census_take_if_asked(NULL);
	wall_us += 200000;
	ok(plh_census_take_if_older(USECS_PER_SEC, false), "nor does it postpone these");
	census_us = 5000;
	for (int i = 0; i < 10000; i++)
	{
		wall_us += 1000;
		censuses += plh_census_take_if_asked(NULL);
	}
	printf("# %d ms for censuses in 10 s\n", 5 * censuses);
	ok(5 * censuses >= 150 && 5 * censuses <= 210, "they take a fiftieth of the time at most");
	TopMemoryContext->mem_allocated += 100000;
	wall_us += 1000000;
	ok(plh_census_take_if_asked(TopMemoryContext) && state.being_reset == NULL &&
	   plh_profile->context_bytes < TopMemoryContext->mem_allocated, "what is over is not counted");
	TopMemoryContext->mem_allocated -= 100000;
}

/* The system's clock is set back by an hour; and once more to where it was. */
static void
test_clock_set_back(void)
{
	const TimestampTz hour = 3600 * USECS_PER_SEC;
	const TimestampTz start = statement_start = 4 * hour;
	const PlhHistoryPoint *history = plh_profile->history;

	plh_census_forget();
	plh_profile->history_count = 0;
	ok(is_taken_after(0, 20) && plh_profile->history_count == 1, "a history begins with a census");
	statement_start = start - hour;
	ok(is_taken_after(1500000, 20) && plh_profile->history_count == 2 &&
	   history[1].at == start - hour, "a history goes on when the clock is set back");
	statement_start = start;
	ok(is_taken_after(100000, 20) && is_taken_after(100000, 20) &&
	   plh_profile->history_count == 3 && history[2].at == start,
	   "a history does not hurry when the clock is set forward");
	ok(is_taken_after(1500000, 20) && plh_profile->history_count == 3,
	   "a history goes on as before after the clock was set forward");
}

/* What is known of the end of something stays known. */
static void
test_ends(MemoryContext child)
{
	const PlhHistoryPoint *history = plh_profile->history;

	plh_census_forget();
	plh_profile->history_count = 0;
	(void) is_taken_after(0, 20);
	child->mem_allocated = 300 * 1024;
	ok(is_taken_after(500000, 20) && plh_profile->history_count == 2,
	   "the last census is the last point of a history, however near it is to another");
	child->mem_allocated = 600 * 1024;
	ok(is_taken_after(300000, 20) && plh_profile->history_count == 2 &&
	   history[1].context_bytes == plh_profile->context_bytes,
	   "it gives way to the next one where that is near, too");
	ok(is_taken_after(20000000, 20) && plh_profile->history_count == 3 &&
	   history[1].context_bytes == history[2].context_bytes,
	   "the last census for long stays, as it tells when growth ended");
	ok(is_taken_after(500000, 20) && is_taken_after(20000000, 20) &&
	   plh_profile->history_count == 4, "unless nothing had changed in it");
	child->mem_allocated = 1024;
}

/* The course of the only contexts that have one. */
static const PlhCourseRecord *
only_course(void)
{
	uint32		position = 0;

	return plh_profile_image_next_course(plh_profile_image_own(plh_profile),
										 &position);
}

/*
 * The course of contexts that have a megabyte more at each point has what the history
 * has, also when every other point of both is gone.
 */
static void
test_courses_of_contexts(MemoryContext child)
{
	const PlhHistoryPoint *history = plh_profile->history;
	const PlhCourseRecord *course = NULL;
	bool		same = true;

	plh_census_forget();
	plh_profile->history_count = 0;
	for (int i = 0; i <= PLH_HISTORY_POINTS + 10; i++)
	{
		child->mem_allocated = (1 + i) * 1024 * 1024;
		same &= is_taken_after(2000000, 20);
		if (i == PLH_HISTORY_POINTS - 1)
			same &= plh_profile->history_count == PLH_HISTORY_POINTS;
		course = only_course();
		same &= (course != NULL) == (i > 0);
		for (int j = 1; course != NULL && j < plh_profile->history_count; j++)
			same &= (course->kilobytes[j] - 1) * INT64CONST(1024) ==
				history[j].context_bytes - 8192 && course->contexts[j] == 1 + 1;
	}
	ok(same && plh_profile->history_count < PLH_HISTORY_POINTS &&
	   course->kilobytes[0] == 0,
	   "the course of contexts has the points of the history, also of a full one");
	child->mem_allocated = 1024;
}

void
test_census(void)
{
	static MemoryContextData top,
				child;
	int64		bytes;
	int			censuses = 0;

	top.type = child.type = T_AllocSetContext;
	top.name = "TopMemoryContext";
	top.methods = child.methods = &census_methods;
	top.mem_allocated = 8192;
	top.firstchild = &child;
	child.name = "child";
	child.parent = &top;
	child.mem_allocated = 1024;
	TopMemoryContext = &top;
	ok(plh_profile_begin(), "a profile for the census begins");

	ok(is_taken_after(0, 20), "the first census is taken at once");
	bytes = plh_profile->context_bytes;
	ok(bytes == 9216 && plh_profile->context_count == 2,
	   "the first census counts the contexts");
	ok(plh_profile->context_free_bytes == 9216 / 4, "the first census counts what is free in contexts");
	ok(!is_taken_after(9000, 20) && is_taken_after(2000, 20),
	   "the next census is taken when the last is old enough");
	ok(is_taken_after(30000, 5000) && is_taken_after(30000, 20),
	   "a census that was interrupted does not put off the next");
	for (int i = 0; i < 100000; i++)
		censuses += is_taken_after(10000, 5000);
	ok(censuses >= 200 && censuses <= 203,
	   "censuses that take long take a thousandth of the time");
	plh_census_forget();
	ok(is_taken_after(0, 5000), "a forked child takes a census at once");

	test_commits(&child);
	test_changes();
	test_asked();
	test_clock_set_back();
	test_ends(&child);
	test_courses_of_contexts(&child);
	plh_profile_forget();
}
