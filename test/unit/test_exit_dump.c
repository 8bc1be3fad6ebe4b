/*
 * test_exit_dump.c
 *	  Which processes leave a dump at their exit, and which of these the log tells.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "logged_line.h"
#include "process/dump_texts.h"
#include "process/log_turns.h"
#include "process/top_site.h"
#include "profile/profile_file.h"
#include "sampler/census.h"

#define MB ((int64) 1024 * 1024)

double		plh_dump_min_bytes = 1.0 * MB;
double		plh_dump_min_peak = 256.0 * MB;

/* Of the process. */
static BackendType backend_type = B_BACKEND;
static Oid	database = 5;
static bool dumps_on_exit = true;
static bool logs_summary = true;

/* What was done. */
static int	dumps;
static int	failure;			/* of the dumps */
static bool tells_peak;			/* the log says what the peak was of */
static int	failures_told;
static Oid	turn_of;
static bool has_turn = true;

static bool
dump_stub(const PlhProfileImage *image, const PlhDumpExtras *extras, PlhDumpResult *result)
{
	dumps += strcmp(extras->reason, "exit") == 0;
	memset(result, 0, sizeof(*result));
	result->failure = failure;
	return failure == 0;
}

static bool
turn_stub(Oid role, PlhLogTurn *turn)
{
	turn_of = role;
	*turn = (PlhLogTurn)
	{
		0
	};
	return has_turn;
}

static bool
top_site_stub(PlhTopSite *top, const PlhProfileImage *image, PlhTopMoment moment)
{
	tells_peak = moment == PLH_TOP_PEAK;
	return plh_top_site_find(top, image, moment);
}

static const char *
time_stub(TimestampTz time)
{
	return "now";
}

static void
failure_stub(const PlhDumpResult *result, int level)
{
	failures_told += result->failure != 0;
}

#define MyBackendType backend_type
#define MyDatabaseId database
#define plh_dump_on_exit dumps_on_exit
#define plh_log_summary logs_summary
#define plh_dump_copy_write dump_stub
#define plh_log_turns_take turn_stub
#define plh_top_site_find top_site_stub
#define timestamptz_to_str time_stub
#define plh_dump_report failure_stub
#define plh_census_note_own_bytes() ((void) 0)
#define plh_census_take_at_exit() ((void) 0)
#define plh_dump_texts_write(path, image, reason, at) true
#define plh_dump_retention_trim_sometimes() 0
#define plh_dump_report_removal(failure) ((void) (failure))
#include "process/exit_dump.c"

#include "unit_tests.h"

/* A process that has so much live, in contexts, as private memory, and had that at most. */
static PlhProfileHeader
process_with(int64 live_bytes, int64 context_bytes, int64 own_bytes, int64 peak_bytes)
{
	return (PlhProfileHeader)
	{
		.role_oid = 16384,
			.counters =
		{
			.live_bytes = live_bytes,.live_samples = 1000
		},
			.census_at = 1,.context_bytes = context_bytes,.own_bytes = own_bytes,
			.malloc_bytes = -1,.peak_bytes = peak_bytes,.node_memory_bytes = 8 * MB,
			.maintenance_bytes = 200 * MB
	};
}

/* Does it leave a dump? */
static bool
leaves_dump(PlhProfileHeader header)
{
	PlhProfileHeader *profile = plh_profile;

	header.used_bytes = sizeof(header);
	plh_profile = &header;
	dumps = failures_told = logged_line.count = 0;
	tells_peak = false;
	turn_of = InvalidOid;
	plh_exit_dump_write();
	plh_profile = profile;
	return dumps == 1;
}

static void
test_worth(void)
{
	ok(!leaves_dump(process_with(MB / 2, 10 * MB, 20 * MB, 20 * MB)), "a process that holds little leaves no dump");
	ok(leaves_dump(process_with(3 * MB, 10 * MB, 20 * MB, 20 * MB)) && !tells_peak,
	   "one that holds much does");
	ok(leaves_dump(process_with(0, 70 * MB, 80 * MB, 80 * MB)) && !tells_peak, "so does one with large contexts");
	ok(!leaves_dump(process_with(0, 70 * MB, 20 * MB, 80 * MB)), "but not where these are no longer its memory");
	ok(leaves_dump(process_with(0, 0, 20 * MB, 300 * MB)) && tells_peak, "so does one that had much");
	backend_type = B_AUTOVAC_WORKER;
	ok(!leaves_dump(process_with(0, 0, 20 * MB, 300 * MB)) && leaves_dump(process_with(0, 0, 20 * MB, 400 * MB)),
	   "what vacuums may have what settings allow it, twice");
	backend_type = B_BACKEND;
	database = InvalidOid;
	ok(!leaves_dump(process_with(3 * MB, 0, 0, 0)), "a client that was refused leaves none");
	database = 5;
	dumps_on_exit = false;
	ok(!leaves_dump(process_with(3 * MB, 0, 0, 0)), "nor does anyone without the setting");
	dumps_on_exit = true;
}

static void
test_turns(void)
{
	PlhProfileHeader large = process_with(3 * MB, 0, 0, 0);

	ok(leaves_dump(large) && logged_line.count == 1 && turn_of == 16384, "an exit is told in a turn of its role");
	has_turn = false;
	ok(leaves_dump(large) && logged_line.count == 0, "without one there is a dump, but no line");
	failure = ENOSPC;
	ok(leaves_dump(large) && failures_told == 0, "nor is a failure told then");
	has_turn = true;
	ok(leaves_dump(large) && logged_line.count == 1 && failures_told == 1, "else it is");
	logs_summary = false;
	ok(leaves_dump(large) && logged_line.count == 0 && failures_told == 1, "also where exits are not");
	failure = 0;
	ok(leaves_dump(large) && logged_line.count == 0 && turn_of == InvalidOid, "what is not told takes no turn");
	logs_summary = true;
}

void
test_exit_dump(void)
{
	test_worth();
	test_turns();
}
