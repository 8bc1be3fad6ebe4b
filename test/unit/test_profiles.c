/*
 * test_profiles.c
 *	  Live samples and profiles: sums, full ones, their files, no memory.
 */
#include "postgres.h"

#include <unistd.h>

#include "nodes/memnodes.h"

#include "sampler/chunk_mark.h"
#include "failing_memory.h"
#include "filled_profile.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "sampler/live_samples.h"
#include "sampler/sample_filter.h"
#include "server.h"
#include "small_file_system.h"
#include "base/settings.h"
#include "unit_tests.h"

/* Reset callback as the hooks have one. */
static void
on_reset(void *arg)
{
	plh_live_samples_drop_context(arg);
}

static uint32
site_of(int i)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};
	char		name[32];

	stack.addresses = stack.buffer;
	stack.depth = 1 + i % 30;
	stack.truncated = false;
	for (int frame = 0; frame < stack.depth; frame++)
		stack.buffer[frame] = 0x1000 * (i % 2000) + frame + 1;
	snprintf(name, sizeof(name), "context %d", i % 10);

	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(name, PLH_CONTEXT_NAME_MAX);
	key.statement = plh_profile_statement(i % 3, name);
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	return plh_profile_site(&key);
}

/* Begin the profile as its owner does. */
static bool
begin_profile(void)
{
	if (!plh_profile_begin())
		return false;
	plh_profile_counters_start();
	return true;
}

/* What the hooks do for one sample. */
static bool
record(MemoryContext context, int i)
{
	PlhDraw		exact = {.interval_bytes = 1};
	PlhWatchedContext *watched;
	PlhLiveSample *sample;
	uint32		site;

	if ((plh_profile == NULL && !begin_profile()) ||
		((watched = plh_live_samples_watched(context)) == NULL &&
		 (watched = plh_live_samples_watch(context, PLH_LIFETIME_SESSION)) == NULL))
	{
		plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, 10, exact);
		return false;
	}
	site = site_of(i);
	sample = plh_live_samples_insert(watched, fake_pointer(i), 10, exact, site);
	if (sample != NULL)
	{
		sample->tick = plh_profile_counters_add(site, 10, 0, exact);
		return true;
	}
	plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, 10, exact);
	return false;
}

/* Live objects of all sites, as a reader adds them up. */
static int64
live_count_of_sites(void)
{
	PlhProfileHeader *header = plh_profile;
	uint32		offset = MAXALIGN(sizeof(PlhProfileHeader));
	int64		sum = 0;

	while (offset < header->used_bytes)
	{
		PlhRecord  *record = (PlhRecord *) ((char *) header + offset);

		if (record->kind == PLH_RECORD_SITE)
			sum += ((PlhSiteRecord *) record)->counters.live_count;
		offset += record->bytes;
	}
	return sum;
}

static void
forget_all(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_live_samples_forget();
}

#define SAMPLES 6000			/* of a scenario */

/* The profile has that number of live samples, and has lost at most that many. */
static const char *
require_counted(const char *broken, int64 live, int64 lost)
{
	PlhProfileHeader *header = plh_profile;

	if (header == NULL)
	{
		REQUIRE(broken, live == 0);
		return broken;
	}
	REQUIRE(broken, header->counters.live_count == live);
	REQUIRE(broken, header->counters.live_samples == live);
	REQUIRE(broken, live_count_of_sites() == live);
	REQUIRE(broken, header->lost_samples[PLH_LOSS_LIVE_TABLE] <= lost);
	REQUIRE(broken, header->samples_taken == SAMPLES);
	return broken;
}

/*
 * Samples in three contexts, frees, a reset: with every N from 1 on, the N-th
 * request for memory and all after it fail.  Returns what does not hold then.
 */
static const char *
run_scenario(int fail_at, bool *failed)
{
	static bool kept[SAMPLES];
	static MemoryContextData contexts[3];
	int64		expected = 0;
	int64		lost = 0;
	const char *broken = NULL;

	memset(contexts, 0, sizeof(contexts));
	memory_requests = 0;
	failing_request = fail_at;
	plh_live_samples_start(1 << 20, on_reset);

	for (int i = 0; i < SAMPLES; i++)
	{
		kept[i] = record(&contexts[i % 3], i);
		lost += !kept[i];
		expected += kept[i];
	}
	for (int i = 0; i < SAMPLES; i += 7)
	{
		plh_live_samples_remove(fake_pointer(i));
		expected -= kept[i];
		kept[i] = false;
	}
	reset_context(&contexts[1]);
	for (int i = 1; i < SAMPLES; i += 3)
	{
		expected -= kept[i];
		kept[i] = false;
	}
	/* where chunks are marked there is no filter */
	for (int i = 0; i < SAMPLES && !PLH_MARKS_CHUNKS; i++)
		REQUIRE(broken, !kept[i] || plh_sample_filter_has(fake_pointer(i)));
	broken = require_counted(broken, expected, lost);

	reset_context(&contexts[0]);
	reset_context(&contexts[2]);
	broken = require_counted(broken, 0, lost);

	*failed = fail_at != 0 && memory_requests >= fail_at;
	failing_request = 0;
	forget_all();
	return broken;
}

static void
test_failing_memory(void)
{
	bool		failed = true;
	const char *broken = NULL;
	int			fail_at = 0;

	ok_unbroken(run_scenario(0, &failed), "live samples and sites add up");
	failed = true;
	while (failed && broken == NULL)
	{
		fail_at++;
		broken = run_scenario(fail_at, &failed);
		if (broken != NULL)
			printf("# with request %d failing\n", fail_at);
	}
	printf("# failed each of %d requests for memory\n", fail_at - 1);
	ok_unbroken(broken,
				"nothing breaks, whichever request for memory fails");
	ok(fail_at > 10, "more than ten requests for memory have failed");
}

/* Sites beyond the size of the profile go to the catch-all site. */
static void
test_full_profile(void)
{
	static MemoryContextData context;
	PlhProfileHeader *header;
	int64		catch_all;

	plh_load_settings.max_profile_size = 128 * 1024;
	plh_live_samples_start(1 << 20, on_reset);
	for (int i = 0; i < 5000; i++)
		(void) record(&context, i);
	header = plh_profile;
	catch_all = ((PlhSiteRecord *) ((char *) header +
									header->catch_all_site))->counters.live_count;
	ok(header->counters.live_count == 5000,
	   "a full profile loses nothing of the total");
	ok(live_count_of_sites() == 5000, "the sites of a full profile lose nothing of the total");
	ok(catch_all > 0, "what has no room is at the catch-all site");
	ok(catch_all < 5000, "samples before the profile was full are not at the catch-all site");
	ok(header->lost_samples[PLH_LOSS_PROFILE] == catch_all,
	   "what has no room is counted as lost");
	reset_context(&context);
	forget_all();
	plh_load_settings.max_profile_size = 1024 * 1024;
}

/* A forked child has the contexts of its parent, but none of the samples in them. */
static void
test_contexts_of_parent(void)
{
	static MemoryContextData context;

	for (int i = 0; i < 10; i++)
		(void) record(&context, i);
	forget_all();
	(void) record(&context, 100);
	(void) record(&context, 101);
	ok(plh_profile->counters.live_count == 2,
	   "a forked child counts its own samples alone");
	reset_context(&context);
	ok(plh_profile->counters.live_count == 0 && live_count_of_sites() == 0,
	   "the reset of an inherited context ends the child's samples alone");
	forget_all();
}

/* Call sites of long statements, which are all that the profile has. */
static void
test_many_statements(void)
{
	Size		share = plh_load_settings.max_profile_size / 4;
	PlhDraw		exact = {.interval_bytes = 1};
	Size		most = 0;
	char		text[PLH_STATEMENT_MAX];

	(void) begin_profile();
	for (int i = 0; i < 2000; i++)
	{
		PlhSiteKey	key = {0};
		int			length = 0;

		for (int column = 0; column < 60; column++)
			length += snprintf(text + length, sizeof(text) - length, "%s c%d_%d",
							   column == 0 ? "SELECT" : ",", i, column);
		key.statement = plh_profile_statement(0, text);
		plh_profile_counters_add(plh_profile_site(&key), 10, 0, exact);
		most = Max(most, plh_profile_records_bytes(PLH_RECORD_STATEMENT));
	}
	ok(most <= share + 64, "statements take a quarter of a profile");
	ok(most > share / 2, "statements take what they may");
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == 0,
	   "a profile has room for the call sites of statements without a text");
	ok(plh_profile->counters.live_count == 2000, "each call site of a statement counts");
	forget_all();
}

/* Read the header of a profile's file; zeros if there is none. */
static void
read_header(const char *directory, PlhProfileHeader *header)
{
	char		path[128];
	FILE	   *file;

	memset(header, 0, sizeof(*header));
	snprintf(path, sizeof(path), "%s/%d", directory, (int) getpid());
	file = fopen(path, "r");
	if (file == NULL)
		return;
	ok(fread(header, sizeof(*header), 1, file) == 1, "the file of a profile has a header");
	fclose(file);
}

/* Number of mappings of a directory's files in this process. */
static int
mappings_of(const char *directory)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[1024];
	int			count = 0;

	while (fgets(line, sizeof(line), maps) != NULL)
		count += strstr(line, directory) != NULL;
	fclose(maps);
	return count;
}

/* The file holds what the memory does, and grows with it. */
static void
test_profile_file(void)
{
	static MemoryContextData context;
	char		directory[64];
	PlhProfileHeader *header;
	PlhProfileHeader start;

	make_directory(directory, sizeof(directory));
	plh_live_samples_start(1 << 20, on_reset);
	(void) record(&context, 1);
	header = plh_profile;
	ok(plh_profile_file_publish(directory), "a profile is published");
	for (int i = 2; i < 3000; i++)
		(void) record(&context, i);
	ok(plh_profile == header, "a published profile grows in place");
	ok(header->used_bytes > PLH_REGION_STEP, "a published profile grows beyond what it had at first");
	ok(plh_profile_file_is_whole(), "the file of a published profile grows with it");
	ok(mappings_of(directory) == 1, "the file of a published profile is mapped in one piece");
	ok(header->counters.live_count == 2999, "a published profile that grows loses nothing");

	read_header(directory, &start);
	ok(memcmp(&start, header, sizeof(start)) == 0,
	   "another process that reads a published profile sees the same");
	plh_profile_file_unlink();
	read_header(directory, &start);
	ok(start.pid == 0 && start.used_bytes == 0,
	   "the file of a profile is gone when it is unlinked");
	remove_directory(directory);
	ok(!plh_profile_file_publish(directory) && errno == ENOENT,
	   "a profile without a directory is not published");
	ok(record(&context, 3001), "sampling goes on without a file");
	reset_context(&context);
	forget_all();
}

/* Without room the file has less than the profile, which loses nothing. */
static void
test_unpublished_profile(void)
{
	static MemoryContextData context;
	char		directory[64];
	PlhProfileHeader start;

	make_directory(directory, sizeof(directory));
	plh_live_samples_start(1 << 20, on_reset);
	for (int i = 1; i < 100; i++)
		(void) record(&context, i);
	file_system_bytes = 64 * MB;
	file_system_free = 16 * MB;
	ok(!plh_profile_file_publish(directory) &&
	   !plh_profile_file_is_published(), "a profile without room has no file");
	file_system_free = 18 * MB;
	ok(!plh_profile_file_publish(directory) &&
	   plh_profile_file_is_published(), "a profile with a little room has a file");
	read_header(directory, &start);
	ok(start.published_bytes >= PLH_PROFILE_FIRST_BYTES &&
	   start.published_bytes < start.used_bytes, "the file of a profile with a little room has only its start");
	for (int i = 100; i < 1000; i++)
		(void) record(&context, i);
	read_header(directory, &start);
	ok(start.counters.live_count == 999, "the header of a profile with a little room has the current figures");
	ok(!plh_profile_file_is_whole() && live_count_of_sites() == 999,
	   "the owner of a profile with a little room knows all sites");

	file_system_free = 40 * MB;
	ok(plh_profile_file_publish(directory) && plh_profile_file_is_whole(),
	   "a profile is published as a whole when there is room again");
	read_header(directory, &start);
	ok(start.published_bytes >= start.used_bytes &&
	   live_count_of_sites() == 999, "a profile that had little room has lost nothing");
	file_system_free = 18 * MB;
	for (int i = 1000; i < 5000; i++)
		(void) record(&context, i);
	ok(!plh_profile_file_is_whole() && live_count_of_sites() == 4999,
	   "a profile grows beyond its file");
	file_system_free = 40 * MB;
	ok(plh_profile_file_publish(directory) && live_count_of_sites() == 4999 &&
	   mappings_of(directory) == 1, "the file follows its profile, in one piece");
	file_system_bytes = 0;
	plh_profile_file_unlink();
	remove_directory(directory);
	reset_context(&context);
	forget_all();
}

/* A site that lives for more epochs than half of what can be counted. */
static void
test_late_checkpoint(void)
{
	PlhDraw		exact = {.interval_bytes = 1};
	PlhSiteRecord *site;
	uint32		offset;

	ok(begin_profile(), "a profile for checkpoints begins");
	offset = site_of(1);
	site = (PlhSiteRecord *) ((char *) plh_profile + offset);
	plh_profile_counters_add(offset, 10, 0, exact);
	plh_profile->epoch += (uint32) 1 << 31;
	plh_profile_counters_add(offset, 10, 0, exact);
	ok(site->next_checkpoint == PG_UINT32_MAX,
	   "no checkpoint comes after the last that can be doubled");
	plh_profile->epoch++;
	plh_profile_counters_add(offset, 10, 0, exact);
	ok(site->checkpoints[PLH_CHECKPOINTS - 1].epochs == (uint32) 1 << 31,
	   "the last checkpoint stays in later epochs");
	forget_all();
}

/* What is remembered of a stack holds as long as no stack is given up. */
static void
test_known_stack(void)
{
	PlhKnownStack known = {0};
	PlhStack	stack = {.depth = 1,.known = &known};
	uint32		offset;
	uint32		other;

	stack.addresses = stack.buffer;
	stack.buffer[0] = 0x1234;
	ok(begin_profile(), "a profile for stacks begins");
	offset = plh_profile_stack(&stack);
	stack.buffer[0] = 0x5678;
	ok(offset != 0 && plh_profile_stack(&stack) == offset,
	   "a stack that is known is not looked up");
	plh_profile_recycling_generation++;
	other = plh_profile_stack(&stack);
	ok(other != 0 && other != offset, "a stack is looked up after a stack was given up");
	forget_all();
	ok(begin_profile() && known.generation != plh_profile_recycling_generation,
	   "a stack that is known is not that of the next profile");
	forget_all();
}

/* A string is known by its text, although its address is looked at first. */
static void
test_strings(void)
{
	char		text[] = "context one";
	uint32		one;
	uint32		two;

	ok(begin_profile(), "a profile for strings begins");
	one = plh_profile_string(text, PLH_CONTEXT_NAME_MAX);
	ok(one != 0 && plh_profile_string(text, PLH_CONTEXT_NAME_MAX) == one &&
	   plh_profile_string("context one", PLH_CONTEXT_NAME_MAX) == one,
	   "a string is there once, wherever its text lies");
	strcpy(text, "context two");
	two = plh_profile_string(text, PLH_CONTEXT_NAME_MAX);
	ok(two != 0 && two != one, "another text at the same address is another string");
	ok(plh_profile_string(text, 7) != two, "a string that is cut is another string");
	forget_all();
}

/* The buckets grow with the records, which stay where they are. */
static void
test_buckets(void)
{
	enum
	{
		STRINGS = 20000
	};
	static uint32 offsets[STRINGS];
	Size		max_bytes = plh_load_settings.max_profile_size;
	char		name[32];
	int			moved = 0;

	plh_load_settings.max_profile_size = 8 * 1024 * 1024;
	ok(begin_profile(), "a profile for buckets begins");
	ok(plh_profile_records_buckets.count * sizeof(uint32) < 1024,
	   "few records need few buckets");
	for (int i = 0; i < STRINGS; i++)
	{
		snprintf(name, sizeof(name), "string %d", i);
		offsets[i] = plh_profile_string(name, sizeof(name));
	}
	for (int i = 0; i < STRINGS; i++)
	{
		snprintf(name, sizeof(name), "string %d", i);
		if (offsets[i] == 0 ||
			plh_profile_string(name, sizeof(name)) != offsets[i])
			moved++;
	}
	ok(moved == 0, "records are found in buckets that were split");
	ok(plh_profile_records_buckets.count > STRINGS && longest_chain() <= 12,
	   "a bucket has a record or two");
	forget_all();
	plh_load_settings.max_profile_size = max_bytes;
}

void
test_profiles(void)
{
	test_buckets();
	test_strings();
	test_known_stack();
	test_late_checkpoint();
	test_failing_memory();
	test_full_profile();
	test_contexts_of_parent();
	test_many_statements();
	test_profile_file();
	test_unpublished_profile();
}
