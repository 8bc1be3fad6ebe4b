/*
 * test_doubts.c
 *	  Why there is no verdict on a process, in words.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/settings.h"
#include "leaking_session.h"
#include "process/profile_directory.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "suspect_facts.h"
#include "unit_tests.h"
#include "telling/cache_shares.h"
#include "telling/doubt.h"

#define MEBIBYTE (1024 * 1024)

/* What needs the server. */
const char *
plh_profile_directory_failure(int pid, const char **hint)
{
	return NULL;
}

PlhMallocCallers
plh_malloc_callers_find(int pid, PlhSymbols *symbols)
{
	return (PlhMallocCallers)
	{
		.are_known = true
	};
}

/* No stacks are to be had. */
void
plh_cache_shares_find(PlhCacheShares *shares, const PlhFamily *family,
					  const PlhProfileImage *image, PlhStackTexts *stacks)
{
	memset(shares, 0, sizeof(*shares));
}

const char *
plh_words_interval(uint32 interval_bytes)
{
	return psprintf("one sample in %u B", interval_bytes);
}

static Session *session;
static PlhCourse course;
static int64 rss_anon_bytes;
static const char *state;

/* A session of 60 MB, counted now, in which every allocation is a sample. */
static void
begin(void)
{
	session = palloc(sizeof(Session));
	begin_session(session, 1, 1);
	begin_statement(session, "SELECT x1;");
	begin_transaction(session, 1);
	plh_profile->backend_type = B_BACKEND;
	plh_profile->node_memory_bytes = 1024 * MEBIBYTE;
	plh_profile->sort_memory_bytes = 512 * MEBIBYTE;
	plh_profile->census_at = SOME_TIME * 2;
	plh_profile->own_bytes = plh_profile->context_bytes = 60 * MEBIBYTE;
	plh_profile->malloc_bytes = 60 * MEBIBYTE;
	plh_profile->sample_interval = 1;
	plh_profile->scope = PLH_SCOPE_ALL;
	memset(&course, 0, sizeof(course));
}

static void
end(void)
{
	end_session();
	pfree(session);
}

static PlhDoubt
doubt_about(const PlhExplainedProcess *process, const PlhFindings *findings)
{
	const PlhDoubted doubted = {.process = process,.course = &course,.findings = findings};
	PlhDoubt	doubt;

	plh_doubt_find(&doubt, &doubted);
	return doubt;
}

/* The doubt about the session with those contexts of a family at the last count. */
static PlhDoubt
doubt_with(const char *context, bool lasting, int64 bytes)
{
	PlhContextRecord record = {.instances = 1};
	PlhFamilyAccount family = {
		.family = plh_family_of(context),.largest = &record,.lasting = lasting,.bytes = bytes,.contexts = 1
	};
	PlhAccount	account = {.families = &family,.family_count = 1};
	const PlhFindings findings = {.account = &account};
	PlhExplainedProcess process = {
		.pid = 42,.image = plh_profile_image_own(plh_profile),.loaded = PLH_LOADED,
		.rss_anon_bytes = rss_anon_bytes,.state = state,.backend_type = "client backend",
		.now = course.now
	};

	plh_profile->published_bytes = plh_profile->used_bytes;
	return doubt_about(&process, &findings);
}

static bool
is_said(const char *text, const char *expected)
{
	if (strstr(text, expected) != NULL)
		return true;
	printf("# it says: %s\n", text);
	return false;
}

/* Few samples stand for what the sites hold. */
static void
make_uncertain(void)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		((PlhSiteRecord *) site)->counters.live_variance = pow(0.2 * site->counters.live_bytes, 2);
}

static void
test_growth(void)
{
	PlhDoubt	doubt;

	begin();
	allocate(session, BALANCED, "TopMemoryContext", 20 * MEBIBYTE);
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "Nothing keeps growing") && !doubt.is_undecided,
	   "what does not grow is decided");
	plh_profile->history_count = 1;
	plh_profile->history[0].at = course.now - 9 * USECS_PER_SEC;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "too short to tell whether it grows") && doubt.is_undecided,
	   "but not of what was counted for the first time a moment ago");
	plh_profile->history_count = 0;
	course.now = course.rests_since = SOME_TIME * 2;
	course.grown_bytes = 20 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "It has grown, but not for long enough to tell why. The largest part of what stays is 20971520 B at copy_row (rows.c:1) in ExecutorState. It was allocated in only 1 transaction; a verdict needs at least 8 (a long transaction counts once per second).") &&
	   doubt.is_undecided, "what has grown for a short time is not decided, and what that takes is told");
	ok(strcmp(doubt.next.text.data, "Ask again in 10 s.") == 0,
	   "no interval is proposed where a finer one is in use");
	plh_profile->sample_interval = 512 * 1024;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(strcmp(doubt.next.text.data, "Ask again in 10 s.") == 0, "nor where the site is known well");
	make_uncertain();
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.next.text.data, "SELECT pg_leakhunt_start(42, '32kB'"), "else a finer interval is proposed");
	course.now += 3 * USECS_PER_SEC;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "It has not grown for ") && is_said(doubt.words.text.data, ", which is too short to tell whether it will grow again. The largest part") &&
	   strstr(doubt.words.text.data, "long enough") == NULL && doubt.is_undecided, "what has stopped growing a moment ago is said to");
	course.now = course.rests_since;
	plh_profile->malloc_free_bytes = 11 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "Most of its growth was freed: malloc keeps 11534336 B, to use it again.") &&
	   !doubt.is_undecided && doubt.next.text.len == 0, "growth that malloc keeps is explained");
	plh_profile->malloc_free_bytes = 0;
	plh_profile->context_bytes = plh_profile->malloc_bytes = 30 * MEBIBYTE;
	plh_profile->own_bytes = 80 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 20 * MEBIBYTE);
	ok(doubt.is_undecided && doubt.next.text.len > 0 && strstr(doubt.next.text.data, "32kB") == NULL,
	   "no samples of contexts are proposed for what is outside of them");
	end();
	begin();
	allocate(session, BALANCED, "LocalBufferContext", 20 * MEBIBYTE);
	course.now = course.rests_since = SOME_TIME * 2;
	course.grown_bytes = 20 * MEBIBYTE;
	doubt = doubt_with("LocalBufferContext", true, 18 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "Most of its growth is a cache that fills up. The largest part of what stays, 18874368 B, is buffers of temporary tables.") &&
	   !doubt.is_undecided, "growth of one of the server's caches is explained");
	end();
}

/* Of what malloc gives out outside of contexts, too. */
static void
test_outside(void)
{
	PlhDoubt	doubt;

	begin();
	plh_profile->context_bytes = MEBIBYTE;
	plh_profile->malloc_bytes = 41 * MEBIBYTE;
	plh_profile->own_bytes = rss_anon_bytes = 42 * MEBIBYTE;
	course.now = SOME_TIME * 2 + 60 * USECS_PER_SEC;
	course.rests_since = course.now - 5 * USECS_PER_SEC;
	doubt = doubt_with("TopMemoryContext", true, 60 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "malloc has given out 41943040 B outside of memory contexts, but that has not grown for long enough to tell a leak.") &&
	   is_said(doubt.next.text.data, "Ask again later.") && doubt.is_undecided, "what malloc gave out of late is not decided");
	course.rests_since = SOME_TIME * 2;
	plh_profile->history_count = 1;
	plh_profile->history[0].at = SOME_TIME * 2 - USECS_PER_SEC;
	doubt = doubt_with("TopMemoryContext", true, 60 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "malloc has given out 41943040 B outside of memory contexts, and that has hardly changed for ") &&
	   !doubt.is_undecided && strstr(doubt.next.text.data, "Ask again") == NULL, "what has not changed for long is");
	rss_anon_bytes = 0;
	end();
}

/* What was never counted is not said to be nothing. */
static void
test_uncounted(void)
{
	PlhDoubt	doubt;

	begin();
	plh_profile->census_at = 0;
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(is_said(doubt.words.text.data, "It has allocated too little to tell.") && !doubt.is_undecided, "of a small process nothing is known");
	rss_anon_bytes = 300 * MEBIBYTE;
	state = "active";
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(is_said(doubt.words.text.data, "Almost all of its private memory is outside of memory contexts: malloc gave it out, or a library mapped it. It has not counted its memory yet") &&
	   is_said(doubt.next.text.data, "SELECT pg_cancel_backend(42)") && doubt.is_undecided, "of a large one, that it is outside of what is sampled");
	state = "idle";
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(is_said(doubt.next.text.data, "See in pg_stat_activity what it runs") && strstr(doubt.next.text.data, "cancel") == NULL, "and nothing is cancelled that does not run");
	plh_profile->census_at = SOME_TIME * 2;
	plh_profile->own_bytes = 90 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(is_said(doubt.words.text.data, "Almost all of what it has gained since the last count is outside of memory contexts"),
	   "nor is what came since the last count");
	plh_profile->own_bytes = 60 * MEBIBYTE;
	rss_anon_bytes = 110 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(is_said(doubt.words.text.data, "Almost all of what it has gained since the last count is outside of memory contexts"),
	   "what malloc gave to contexts is not counted twice as what may be written to later");
	rss_anon_bytes = 300 * MEBIBYTE;
	plh_profile->own_bytes = 280 * MEBIBYTE;
	doubt = doubt_with("TopMemoryContext", true, 0);
	ok(strstr(doubt.words.text.data, "outside of memory contexts") == NULL, "little of that is not worth a word");
	rss_anon_bytes = 0;
	state = NULL;
	end();
}

/* What is counted is told, and not what samples say of it. */
static void
test_counted(void)
{
	PlhDoubt	doubt;

	begin();
	allocate(session, BALANCED, "LocalBufferContext", 20 * MEBIBYTE);
	doubt = doubt_with("LocalBufferContext", true, 18 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "The largest part of what stays, 18874368 B, is buffers of temporary tables.") &&
	   is_said(doubt.words.text.data, "temp_buffers limits them"), "a cache of PostgreSQL's is told with its count and limit");
	end();
	begin();
	allocate(session, BALANCED, "CacheMemoryContext", 20 * MEBIBYTE);
	doubt = doubt_with("CacheMemoryContext", true, 18 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "The largest part of what stays is 18874368 B at "),
	   "no site holds more than was counted of its contexts");
	end();
}

/* What a statement holds in sorts has their limit, and not that of hash tables. */
static void
test_nodes(void)
{
	PlhDoubt	doubt;

	begin();
	allocate_for(session, BALANCED, "Caller tuples", PLH_LIFETIME_QUERY, 40 * MEBIBYTE, true);
	doubt = doubt_with("Caller tuples", false, 50 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "The running statement's sorts hold 52428800 B, no more than its settings allow. work_mem allows 536870912 B for each sort.") &&
	   !doubt.is_undecided, "all sorts of a statement are told, with their limit");
	end();
	begin();
	allocate_for(session, BALANCED, "HashBatchContext", PLH_LIFETIME_QUERY, 40 * MEBIBYTE, true);
	doubt = doubt_with("HashBatchContext", false, 50 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "The running statement's hash tables hold 52428800 B, no more than its settings allow. work_mem and hash_mem_multiplier allow 1073741824 B for each hash table."),
	   "all hash tables of a statement are told, with their limit");
	end();
	begin();
	allocate_for(session, BALANCED, "TopTransactionContext", PLH_LIFETIME_TRANSACTION, 40 * MEBIBYTE, true);
	plh_profile->passing_bytes = 50 * MEBIBYTE;
	doubt = doubt_with("TopTransactionContext", false, 50 * MEBIBYTE);
	ok(is_said(doubt.words.text.data, "The most that the running transaction holds at one site is 41943040 B at "),
	   "of what is in no node, the largest site is told");
	end();
}

/* Without a profile there is nothing but when there would be one. */
static void
test_no_profile(void)
{
	PlhExplainedProcess process = {.pid = 42,.loaded = PLH_LOADED};

	ok(is_said(doubt_about(&process, NULL).words.text.data,
			   "Too little was sampled to judge: less than 8388608 B at any time, in fewer than 5 samples."),
	   "from when on there is a profile is told");
}

void
test_doubts(void)
{
	test_growth();
	test_outside();
	test_uncounted();
	test_counted();
	test_nodes();
	test_no_profile();
}
