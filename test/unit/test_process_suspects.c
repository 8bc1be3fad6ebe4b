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
#include "judge/process_suspect.h"
#include "judge/statement_suspect.h"

#define MB INT64CONST(1000000)
#define START (INT64CONST(1000) * USECS_PER_DAY)

static PlhProfileHeader header;
static PlhFinding finding;
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
is_found(PlhKind kind)
{
	return plh_process_suspect_judge(&finding, &header, kind, header.census_at + rest_us);
}

/* Malloc outside of contexts, as a function of the second. */
static bool
is_malloc(int64 (*outside) (int second), int seconds)
{
	begin();
	for (int i = 0; i < seconds; i++)
		count(50 * MB, 52 * MB + outside(i), 0, 60 * MB);
	return is_found(PLH_KIND_MALLOC_GROWS);
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
stopped_late(int second)
{
	return Min(second, 170) * 5 * MB;
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

static int64
falling_once(int second)
{
	return (second < 50 ? second : second - 22) * 5 * MB;
}

static int64
much_at_once(int second)
{
	return second < 15 ? 0 : 140 * MB;
}

static int64
much_up_and_down(int second)
{
	return second % 3 * 80 * MB;
}

static void
test_much_malloc(void)
{
	ok(is_malloc(much_at_once, 16) &&
	   plh_process_suspect_malloc_bytes(&finding) == finding.bytes,
	   "malloc that has given out very much at once is suspect, with all of it");
	ok(is_malloc(much_at_once, 200), "malloc that has given out very much is suspect while it does");
	ok(!is_malloc(much_up_and_down, 102), "malloc that goes up and down by very much is not suspect");
	begin();
	for (int i = 0; i < 20; i++)
		count(50 * MB, 192 * MB, 0, 200 * MB);
	ok(is_found(PLH_KIND_MALLOC_GROWS) && finding.growth_bytes == 0,
	   "malloc that had given out very much before the first count is suspect");
	ok(is_malloc(steady, 10) && plh_process_suspect_malloc_bytes(&finding) == finding.growth_bytes,
	   "a finding on malloc is about its growth");
}

static void
test_malloc(void)
{
	ok(is_malloc(steady, 10) && finding.bytes == 46 * MB &&
	   finding.growth_bytes == 45 * MB && !finding.rate.is_known && finding.score > 0.9,
	   "what malloc goes on giving out is suspect");
	ok(is_malloc(steady, 200) && finding.rate.is_known &&
	   finding.rate.bytes_per_hour == 5 * MB * 3600,
	   "malloc that grows steadily for long is suspect, and has a rate");
	ok(!is_malloc(steady, 7), "malloc that grows steadily is not suspect below 32 MB");
	ok(is_malloc(late, 100), "malloc that begins to grow late is suspect");
	ok(is_malloc(stopped_late, 200) && finding.rate.bytes_per_hour == 5 * MB * 3600,
	   "malloc that has just stopped to grow has the rate that it had");
	ok(is_malloc(stopped_late, 220) && !finding.rate.is_known,
	   "malloc that has stopped for a quarter of its time has no rate");
	rest_us = 50 * USECS_PER_SEC;
	ok(is_malloc(steady, 200) && !finding.rate.is_known,
	   "malloc of a process that has not been counted for as long has no rate");
	rest_us = 0;
	ok(!is_malloc(at_once, 16) && !is_malloc(at_once, 17),
	   "malloc that grows at once is not suspect");
	ok(!is_malloc(stopped, 40), "malloc that has stopped to grow is not suspect");
	ok(!is_malloc(filling_up, 30), "malloc that fills a cache is not suspect");
	ok(!is_malloc(up_and_down, 101), "malloc that goes up and down is not suspect");
	ok(!is_malloc(falling_once, 100), "malloc that once fell by more than a quarter of its growth is not suspect");
	begin();
	for (int i = 0; i < 20; i++)
		count(i * 100 * MB, i * 101 * MB, 0, i * 101 * MB);
	ok(!is_found(PLH_KIND_MALLOC_GROWS), "contexts that grow do not make malloc suspect");
	ok(!is_found(PLH_KIND_MAPPED_GROWS), "contexts that grow do not make mappings suspect");
	begin();
	for (int i = 0; i < 20; i++)
		count(i, -1, -1, i * 100 * MB);
	ok(!is_found(PLH_KIND_MALLOC_GROWS) && !is_found(PLH_KIND_MAPPED_GROWS) &&
	   !is_found(PLH_KIND_MALLOC_KEEPS),
	   "a process whose malloc tells nothing is not suspect");
}

static void
test_mapped(void)
{
	begin();
	for (int i = 0; i < 20; i++)
		count(5 * MB, 6 * MB, 10 * MB, (20 + 5 * i) * MB);
	ok(is_found(PLH_KIND_MAPPED_GROWS) && finding.bytes == 99 * MB,
	   "memory that others map is suspect");
	header.overhead_bytes = 40 * MB;
	ok(!is_found(PLH_KIND_MAPPED_GROWS), "memory that we map is not suspect");
	header.overhead_bytes = 0;
	header.history_count = 14;
	header.own_bytes = header.history[13].own_bytes;
	header.census_at = header.history[13].at;
	ok(is_found(PLH_KIND_MAPPED_GROWS), "memory that others map is suspect from 64 MB on");
	header.history_count = 13;
	header.own_bytes = 67108864 + 16 * MB - 1;
	ok(!is_found(PLH_KIND_MAPPED_GROWS), "memory that others map is not suspect below 64 MB");
}

static void
test_freed(void)
{
	begin();
	rest_us = 60 * USECS_PER_SEC;
	count(5 * MB, 6 * MB, 67108863, 100 * MB);
	ok(!is_found(PLH_KIND_MALLOC_KEEPS), "some free memory is not suspect");
	begin();
	count(5 * MB, 6 * MB, 67108864, 100 * MB);
	ok(is_found(PLH_KIND_MALLOC_KEEPS) && finding.bytes == 67108864 &&
	   finding.score > 0.9 && !finding.rate.is_known, "64 MB of free memory are suspect");
	rest_us--;
	ok(!is_found(PLH_KIND_MALLOC_KEEPS), "free memory is not suspect if it is kept for less than a minute");
	rest_us = 50 * USECS_PER_SEC;
	begin();
	for (int i = 0; i < 11; i++)
		count(5 * MB, 6 * MB, 100 * MB, 110 * MB);
	ok(is_found(PLH_KIND_MALLOC_KEEPS), "free memory is suspect in a process that works");
	header.history[8].malloc_free_bytes = 5 * MB;
	ok(!is_found(PLH_KIND_MALLOC_KEEPS),
	   "free memory that was taken again is not suspect");
	rest_us = 0;
}

static void
test_growth(void)
{
	begin();
	for (int i = 0; i < 20; i++)
		count((10 + 3 * i) * MB, (12 + 3 * i) * MB, 0, 100 * MB);
	ok(is_found(PLH_KIND_PROCESS_GROWS) && finding.bytes == 67 * MB &&
	   finding.growth_bytes == 57 * MB,
	   "contexts of the session that grow together make the process suspect");
	for (int i = 0; i < 20; i++)
		header.history_passing_kb[i] = 3000 * i;
	header.passing_bytes = 57 * MB;
	ok(!is_found(PLH_KIND_PROCESS_GROWS), "what ends with a statement does not");
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
	   "samples of more than malloc has given out, and a megabyte, were freed unseen");
	ok(!misses(12 * MB + slack, MB, 10 * MB) &&
	   misses(12 * MB + slack + 1, MB, 10 * MB),
	   "samples that were freed unseen exceed twice their error");
	ok(!misses(slack, 0, -MB) && misses(slack + 1, 0, -MB),
	   "what malloc has given out is never less than nothing");
	(void) misses(100 * MB, 0, 10 * MB);
	header.malloc_bytes = -1;
	ok(!plh_process_suspect_misses_frees(&header),
	   "no free is missed where malloc tells nothing");
	(void) misses(100 * MB, 0, 10 * MB);
	header.census_at = 0;
	ok(!plh_process_suspect_misses_frees(&header), "no free is missed before the first census");
}

/* Any figures; the sanitizers see what is undefined. */
static void
test_odd_courses(void)
{
	pg_prng_state prng;
	int			wrong = 0;
	int			found = 0;

	pg_prng_seed(&prng, 4711);
	for (int i = 0; i < 20000; i++)
	{
		uint64	   *words = (uint64 *) &header;

		for (Size j = 0; j < sizeof(header) / sizeof(*words); j++)
			words[j] = pg_prng_uint64(&prng) >> pg_prng_uint64_range(&prng, 0, 63);
		for (PlhKind kind = PLH_KIND_MALLOC_GROWS; kind <= PLH_KIND_PROCESS_GROWS; kind++)
		{
			found += is_found(kind);
			wrong += !(finding.score >= 0.0 && finding.score <= 1.0) ||
				finding.rate.bytes_per_hour < 0;
		}
		found += plh_process_suspect_misses_frees(&header);
	}
	ok(found > 0 && wrong == 0, "odd figures give scores and rates in their range");
}

void
test_process_suspects(void)
{
	test_malloc();
	test_much_malloc();
	test_mapped();
	test_freed();
	test_growth();
	test_missed_frees();
	test_odd_courses();
}
