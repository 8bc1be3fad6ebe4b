/*
 * test_upkeep.c
 *	  Which steps follow which event, and when an event has no upkeep.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/guard.h"
#include "sampler/growth_dump.h"
#include "profile/profile_file.h"
#include "sampler/census.h"
#include "sampler/owner.h"
#include "sampler/publication.h"
#include "unit_tests.h"

/* The steps that were taken, in their order, by their first letters. */
static char taken[16];
static int64 taken_gap_us;
static bool is_published;
static bool is_census_due;
static bool is_census_missing;

/* What is to be called when the message's context is reset. */
static MemoryContextCallback *registered;

static void
take(char step)
{
	Size		length = strlen(taken);

	if (length + 1 < sizeof(taken))
	{
		taken[length] = step;
		taken[length + 1] = '\0';
	}
}

static void
update_stub(void)
{
	take('h');
}

static void
identify_stub(void)
{
	take('i');
}

static void
publish_stub(int64 gap_us)
{
	take('p');
	taken_gap_us = gap_us;
}

static bool
census_stub(int64 gap_us, bool brief)
{
	take(brief ? 'b' : 'c');
	taken_gap_us = gap_us;
	return is_census_due;
}

static bool
missing_stub(void)
{
	return is_census_missing;
}

static bool
reset_census_stub(MemoryContext context, int64 gap_us)
{
	take('m');
	taken_gap_us = gap_us;
	return is_census_due;
}

static void
register_stub(MemoryContext context, MemoryContextCallback *callback)
{
	registered = callback;
}

static void
dump_stub(void)
{
	take('d');
}

static bool
published_stub(void)
{
	return is_published;
}

/* test_countdown.c has a function of that name, too. */
#define plh_upkeep_run run_upkeep
#define plh_upkeep_samples_not_kept samples_not_kept
#define plh_owner_update_header update_stub
#define plh_owner_identify identify_stub
#define plh_publication_if_due publish_stub
#define plh_census_take_if_older census_stub
#define plh_census_take_at_reset reset_census_stub
#define plh_census_is_missing missing_stub
#define MemoryContextRegisterResetCallback register_stub
#define plh_growth_dump_if_due dump_stub
#define plh_profile_file_is_published published_stub
#define plh_profile_file_verify published_stub
#include "sampler/upkeep.c"

/* Do these steps follow an event at that time, in microseconds? */
static bool
follow_event(PlhUpkeepEvent event, int64 at_us, const char *steps)
{
	taken[0] = '\0';
	run_upkeep(event, at_us);
	return strcmp(taken, steps) == 0;
}

static void
test_commits(PlhProfileHeader *header)
{
	int64		now_us = INT64CONST(1) << 40;

	is_published = false;
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us, "hp"),
	   "a process without a file may get one when it commits");
	is_published = true;
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us + 1, ""),
	   "a second commit within a tick is passed over");
	ok(follow_event(PLH_UPKEEP_LONG_COMMIT, now_us + 2, "hpb") && taken_gap_us == 10000,
	   "a long commit within a tick has a brief census after 10 ms");
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us + 5000, "hpb") && taken_gap_us == 250000,
	   "a short commit has its census after 250 ms");
	header->counters.live_bytes = 1;
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us + 5001, "hpb"),
	   "a commit within a tick counts if live bytes have risen");
	header->counters.live_bytes = 0;
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us + 5002, "hpb"),
	   "a commit within a tick counts if live bytes have fallen");
	plh_upkeep_forget();
	ok(follow_event(PLH_UPKEEP_SHORT_COMMIT, now_us + 5003, "hpb"),
	   "a forked child has upkeep at its first commit");
}

/* Most commits are not even asked when they began. */
static void
test_counted_commits(PlhProfileHeader *header)
{
	int64		tick = INT64CONST(1) << 29;

	ok(plh_upkeep_counts_commit(tick) && !plh_upkeep_counts_commit(tick),
	   "of commits within a tick, the first counts");
	header->counters.live_bytes = 1;
	ok(plh_upkeep_counts_commit(tick) && !plh_upkeep_counts_commit(tick),
	   "one counts if the process holds something else");
	header->counters.live_bytes = 0;
	ok(plh_upkeep_counts_commit(tick), "one counts if the process holds less");
	ok(plh_upkeep_counts_commit(tick + 1), "the first of the next tick counts");
	plh_upkeep_forget();
	ok(plh_upkeep_counts_commit(tick + 1), "the first of a forked child counts");
}

static void
test_samples(PlhProfileHeader *header)
{
	int64		now_us = INT64CONST(1) << 40;

	ok(follow_event(PLH_UPKEEP_SAMPLE_NOT_KEPT, now_us, "hpc") && taken_gap_us == 1000000,
	   "a sample that is not kept has its census after a second");
	header->counters.total_samples = 5;
	header->samples_taken = 5;
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, "hcdp") &&
	   follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, "hcdp"),
	   "each of the first samples has its upkeep, and publishes last");
	header->counters.total_samples = 6;
	header->samples_taken = 6;
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, ""),
	   "later samples within a tick are passed over");
	header->samples_taken = PLH_UPKEEP_SAMPLES;
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, "hcdp"), "each 16th sample within a tick has its upkeep");
	header->samples_taken++;
	header->counters.live_bytes = PLH_PUBLICATION_BYTES - 1;
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, ""), "a change of less than 8 MB does not count");
	header->counters.live_bytes++;
	is_census_due = true;
	ok(follow_event(PLH_UPKEEP_SAMPLE_NOT_KEPT, now_us + 5000, "hpci"),
	   "a census writes anew who the process is");
	is_census_due = false;
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us, "hcdp"), "a change of 8 MB within a tick counts");
	ok(follow_event(PLH_UPKEEP_SAMPLE_KEPT, now_us + 5000, "hcdp"),
	   "a sample in the next tick has its upkeep");
}

/* What a statement needed is counted as over when its message is. */
static void
test_messages(PlhProfileHeader *header)
{
	static MemoryContextData message;
	MemoryContext before = MessageContext;
	int64		now_us = INT64CONST(1) << 41;

	MessageContext = &message;
	registered = NULL;
	awaits_message = false;
	header->passing_bytes = MUCH_BYTES;
	is_census_due = false;
	ok(follow_event(PLH_UPKEEP_LONG_COMMIT, now_us, "hpb") && registered == NULL,
	   "a process that has not counted does not wait for the end of its message");
	is_census_due = true;
	ok(follow_event(PLH_UPKEEP_LONG_COMMIT, now_us + 5000, "hpbi") && registered != NULL,
	   "a process that has counted does");
	taken[0] = '\0';
	plh_guard_held = false;
	registered->func(registered->arg);
	ok(strcmp(taken, "hmi") == 0 && taken_gap_us == 0 && !plh_guard_held,
	   "it is counted again when that is over");
	header->passing_bytes = MUCH_BYTES - 1;
	plh_upkeep_forget();
	registered->func(registered->arg);
	ok(taken_gap_us == 250000, "a process whose statement needs little is counted again where that is long ago");
	plh_guard_held = true;
	taken[0] = '\0';
	registered->func(registered->arg);
	ok(taken[0] == '\0', "it is not counted in a signal handler");
	is_census_due = false;
	registered = NULL;
	is_census_missing = true;
	ok(follow_event(PLH_UPKEEP_LONG_COMMIT, now_us + 10000, "hpb") && registered != NULL,
	   "a process whose commit had no time to count it waits for the end of its message");
	is_census_missing = false;
	MessageContext = before;
}

void
test_upkeep(void)
{
	static PlhProfileHeader header;
	PlhProfileHeader *profile = plh_profile;
	bool		was_held = plh_guard_take();

	header.pid = getpid();
	plh_profile = NULL;
	plh_upkeep_forget();
	is_published = false;
	ok(follow_event(PLH_UPKEEP_LONG_COMMIT, INT64CONST(1) << 40, "p"),
	   "upkeep without a profile writes no header");
	plh_upkeep_forget();
	plh_profile = &header;
	test_commits(&header);
	plh_upkeep_forget();
	test_counted_commits(&header);
	plh_upkeep_forget();
	test_samples(&header);
	plh_upkeep_forget();
	test_messages(&header);
	plh_profile = profile;
	plh_guard_restore(was_held);
}
