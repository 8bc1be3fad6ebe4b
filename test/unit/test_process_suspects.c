/*
 * test_process_suspects.c
 *	  What a process is suspect of as a whole, by courses of all shapes, and what
 *	  a statement may hold.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "common/pg_prng.h"
#include "unit_tests.h"
#include "verdict/process_suspect.h"
#include "verdict/statement_limit.h"

#define MB INT64CONST(1000000)
#define START (INT64CONST(1000) * USECS_PER_DAY)

static PlhProfileHeader header;
static PlhSuspectFacts facts;
static PlhJudgement judgement;
static int64 rest_us;			/* since the last census */

/* Forget all. */
static void
begin(void)
{
	memset(&header, 0, sizeof(header));
}

/* A second passes, after which these figures are counted. */
static void
count(int64 contexts, int64 in_use, int64 kept, int64 own)
{
	PlhHistoryPoint *point = &header.history[header.history_count];

	header.census_at = START + header.history_count * USECS_PER_SEC;
	header.context_bytes = contexts;
	header.malloc_bytes = in_use;
	header.malloc_free_bytes = kept;
	header.own_bytes = own;
	point->at = header.census_at;
	point->context_bytes = contexts;
	point->malloc_bytes = in_use;
	point->malloc_free_bytes = kept;
	point->own_bytes = own;
	header.history_count++;
}

static bool
is_suspect(PlhVerdict verdict)
{
	return plh_process_suspect_judge(&facts, &judgement, &header, verdict,
									 header.census_at + rest_us);
}

/* Malloc outside of contexts, as a function of the second. */
static bool
is_malloc(int64 (*outside) (int second), int seconds)
{
	begin();
	for (int i = 0; i < seconds; i++)
		count(50 * MB, 52 * MB + outside(i), 0, 60 * MB);
	return is_suspect(PLH_VERDICT_MALLOC);
}

static int64
steady(int second)
{
	return second * 5 * MB;
}

static int64
stopped(int second)
{
	return Min(second, 20) * 5 * MB;
}

static int64
at_once(int second)
{
	return second < 15 ? 0 : 100 * MB;
}

static int64
late(int second)
{
	return Max(0, second - 90) * 5 * MB;
}

static int64
filling_up(int second)
{
	return (int64) (100 * MB * (1 - exp(-second / 5.0)));
}

static int64
up_and_down(int second)
{
	return second % 3 * 40 * MB;
}

static void
test_malloc(void)
{
	ok(is_malloc(steady, 10) && facts.live_bytes == 46 * MB &&
	   facts.growth_bytes == 45 * MB && judgement.has_rate &&
	   judgement.bytes_per_hour == 5 * MB * 3600 && judgement.score > 0.9,
	   "what malloc goes on giving out is suspect");
	ok(is_malloc(steady, 200), "for however long it does");
	ok(!is_malloc(steady, 7), "from 32 MB on");
	ok(is_malloc(late, 100), "if it begins late, too");
	ok(!is_malloc(at_once, 16) && !is_malloc(at_once, 17),
	   "what comes at once may go at once");
	ok(!is_malloc(stopped, 40), "what has stopped is not");
	ok(!is_malloc(filling_up, 30), "nor a cache that is filled up");
	ok(!is_malloc(up_and_down, 101), "nor what goes up and down");
	begin();
	for (int i = 0; i < 20; i++)
		count(i * 100 * MB, i * 101 * MB, 0, i * 101 * MB);
	ok(!is_suspect(PLH_VERDICT_MALLOC), "contexts are not malloc's");
	ok(!is_suspect(PLH_VERDICT_MAPPED), "nor is there more");
	begin();
	for (int i = 0; i < 20; i++)
		count(i, -1, -1, i * 100 * MB);
	ok(!is_suspect(PLH_VERDICT_MALLOC) && !is_suspect(PLH_VERDICT_MAPPED) &&
	   !is_suspect(PLH_VERDICT_RETAINED),
	   "where malloc tells nothing, there is nothing to say");
}

static void
test_mapped(void)
{
	begin();
	for (int i = 0; i < 20; i++)
		count(5 * MB, 6 * MB, 10 * MB, (20 + 5 * i) * MB);
	ok(is_suspect(PLH_VERDICT_MAPPED) && facts.live_bytes == 99 * MB,
	   "what others map is suspect");
	header.private_bytes = 40 * MB;
	ok(!is_suspect(PLH_VERDICT_MAPPED), "if it is not ours");
	header.private_bytes = 0;
	header.history_count = 14;
	header.own_bytes = header.history[13].own_bytes;
	header.census_at = header.history[13].at;
	ok(is_suspect(PLH_VERDICT_MAPPED), "from 64 MB on");
	header.history_count = 13;
	header.own_bytes = 67108864 + 16 * MB - 1;
	ok(!is_suspect(PLH_VERDICT_MAPPED), "and not below");
}

static void
test_retained(void)
{
	begin();
	rest_us = 5 * USECS_PER_SEC;
	count(5 * MB, 6 * MB, 67108863, 100 * MB);
	ok(!is_suspect(PLH_VERDICT_RETAINED), "some free memory is normal");
	begin();
	count(5 * MB, 6 * MB, 67108864, 100 * MB);
	ok(is_suspect(PLH_VERDICT_RETAINED) && facts.live_bytes == 67108864 &&
	   judgement.score > 0.9 && !judgement.has_rate, "64 MB are not");
	rest_us--;
	ok(!is_suspect(PLH_VERDICT_RETAINED), "if they are kept for 5 s");
	rest_us = 0;
	begin();
	for (int i = 0; i < 11; i++)
		count(5 * MB, 6 * MB, 100 * MB, 110 * MB);
	ok(is_suspect(PLH_VERDICT_RETAINED), "by a process that works, too");
	header.history[8].malloc_free_bytes = 5 * MB;
	ok(!is_suspect(PLH_VERDICT_RETAINED),
	   "but not by one that has taken them again since");
}

/* Contexts that were so many at times of their life. */
static bool
are_suspect(int64 early, int64 now, int64 rises, int64 bytes, PlhLifetime lifetime)
{
	PlhContextRecord context = {
		.lifetime = lifetime,
		.instances = now,
		.bytes = bytes,
		.first_at = START,
		.rises = rises
	};

	begin();
	header.census_at = START + 10 * USECS_PER_SEC;
	context.checkpoints[1].at = START + 4 * USECS_PER_SEC;
	context.checkpoints[1].instances = early;
	context.checkpoints[2].at = START + 8 * USECS_PER_SEC;
	context.checkpoints[2].instances = now;
	return plh_process_suspect_contexts(&facts, &judgement, &header, &context);
}

static void
test_contexts(void)
{
	ok(are_suspect(400, 1000, 8, 40 * MB, PLH_LIFETIME_SESSION) &&
	   judgement.verdict == PLH_VERDICT_CONTEXTS && facts.epochs == 1000 &&
	   judgement.late_epochs == 600 && judgement.score == 1.0,
	   "contexts that become more are suspect");
	ok(are_suspect(400, 1000, 8, 33554432, PLH_LIFETIME_SESSION) &&
	   !are_suspect(400, 1000, 8, 33554431, PLH_LIFETIME_SESSION),
	   "from 32 MB on");
	ok(!are_suspect(400, 1000, 7, 40 * MB, PLH_LIFETIME_SESSION),
	   "if they do so in 8 censuses");
	ok(!are_suspect(800, 1000, 8, 40 * MB, PLH_LIFETIME_SESSION) &&
	   !are_suspect(400, 400, 8, 40 * MB, PLH_LIFETIME_SESSION),
	   "and do not become fewer than before");
	ok(are_suspect(48, 80, 8, 40 * MB, PLH_LIFETIME_SESSION) &&
	   !are_suspect(48, 79, 8, 40 * MB, PLH_LIFETIME_SESSION),
	   "at least 32 more");
	ok(!are_suspect(400, 1000, 8, 40 * MB, PLH_LIFETIME_QUERY),
	   "and nobody ends them");
}

/* Are frees missed where that was sampled with that error, and that given out? */
static bool
misses(int64 sampled, int64 error, int64 outside)
{
	begin();
	count(50 * MB, 50 * MB + outside, 0, 200 * MB);
	header.malloc_sampled_bytes = sampled;
	header.malloc_sampled_error = error;
	return plh_process_suspect_misses_frees(&header);
}

static void
test_missed_frees(void)
{
	int64		slack = 1048576;

	ok(!misses(100 * MB, 0, 100 * MB) && !misses(0, 0, 0),
	   "what is sampled may be all that malloc has given out");
	ok(!misses(10 * MB + slack, 0, 10 * MB) &&
	   misses(10 * MB + slack + 1, 0, 10 * MB),
	   "more than that, and a megabyte, was freed unseen");
	ok(!misses(12 * MB + slack, MB, 10 * MB) &&
	   misses(12 * MB + slack + 1, MB, 10 * MB),
	   "if it exceeds twice its error, too");
	ok(!misses(slack, 0, -MB) && misses(slack + 1, 0, -MB),
	   "what malloc has given out is never less than nothing");
	(void) misses(100 * MB, 0, 10 * MB);
	header.malloc_bytes = -1;
	ok(!plh_process_suspect_misses_frees(&header),
	   "where malloc tells nothing, nothing is missed");
	(void) misses(100 * MB, 0, 10 * MB);
	header.census_at = 0;
	ok(!plh_process_suspect_misses_frees(&header), "nor before the first census");
}

/* Any figures; the sanitizers see what is undefined. */
static void
test_odd_courses(void)
{
	pg_prng_state prng;
	int			wrong = 0;
	int			suspects = 0;

	pg_prng_seed(&prng, 4711);
	for (int i = 0; i < 20000; i++)
	{
		PlhContextRecord context = {.lifetime = PLH_LIFETIME_SESSION};
		uint64	   *words = (uint64 *) &header;

		for (Size j = 0; j < sizeof(header) / sizeof(*words); j++)
			words[j] = pg_prng_uint64(&prng) >> pg_prng_uint64_range(&prng, 0, 63);
		for (PlhVerdict verdict = PLH_VERDICT_RETAINED; verdict <= PLH_VERDICT_MALLOC; verdict++)
		{
			suspects += is_suspect(verdict);
			wrong += !(judgement.score >= 0.0 && judgement.score <= 1.0) ||
				judgement.bytes_per_hour < 0;
		}
		suspects += plh_process_suspect_misses_frees(&header);
		words = (uint64 *) &context;
		for (Size j = 4; j < sizeof(context) / sizeof(*words); j++)
			words[j] = pg_prng_uint64(&prng) >> pg_prng_uint64_range(&prng, 0, 63);
		context.lifetime = PLH_LIFETIME_SESSION;
		suspects += plh_process_suspect_contexts(&facts, &judgement, &header, &context);
		wrong += !(judgement.score >= 0.0 && judgement.score <= 1.0) ||
			judgement.bytes_per_hour < 0;
	}
	ok(suspects > 0 && wrong == 0, "odd figures give scores and rates in their range");
}

void
test_process_suspects(void)
{
	test_malloc();
	test_mapped();
	test_retained();
	test_contexts();
	test_missed_frees();
	test_odd_courses();
}
