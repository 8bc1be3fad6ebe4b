/*
 * scenario_server.c
 *	  The server around the process of a scenario: who looks at it, the keeper, and the
 *	  log.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "backend.h"
#include "base/guard.h"
#include "process/exit_dump.h"
#include "process/profile_directory.h"
#include "profile/profile.h"
#include "reader/baseline_file.h"
#include "scenario_process.h"
#include "scenario_server.h"
#include "server.h"
#include "server_limits.h"
#include "server_memory.h"
#include "simulated.h"
#include "simulated_proof.h"
#include "watch/verdict_watch.h"

#define KEEPER_US INT64CONST(10000000)
#define LIMIT_US INT64CONST(1000000)

/* The contexts of the session that looks, which are never reset. */
static MemoryContext looking_context;
static MemoryContext process_context;	/* the root while nobody looks */

static bool keeper_looks;
static int64 kept_us;			/* when the keeper looked for findings last */
static int64 limited_us;		/* and whether the server is at its limit */
static StringInfoData log_text;

PlhProfileImage scenario_image;
PlhSuppressions scenario_suppressions;

/* What is seen of the last process. */
static void
take_image(void)
{
	plh_profile->published_bytes = plh_profile->used_bytes;
	scenario_image = *plh_profile_image_own(plh_profile);
	scenario_image.proof = simulated_proof();
	scenario_image.alive = !scenario_process.is_over;
	scenario_image.crashed = scenario_process.has_crashed;
}

void
scenario_server_begin_look(void)
{
	if (looking_context == NULL)
	{
		looking_context = AllocSetContextCreate(NULL, "looking", ALLOCSET_DEFAULT_SIZES);
		initStringInfo(&log_text);
	}
	process_context = TopMemoryContext;
	TopMemoryContext = CurrentMemoryContext = looking_context;
	statement_start = simulated_time();
	plh_guard_held = false;
	if (scenario_process_has_begun())
		take_image();
}

/* The last process counts, as a look has asked for it. */
void
scenario_server_have_counted(void)
{
	if (!scenario_process_has_begun() || scenario_process.is_over || scenario_process.is_deaf)
		return;
	TopMemoryContext = process_context;
	plh_guard_held = true;
	simulated_count();
	plh_guard_held = false;
	TopMemoryContext = looking_context;
	take_image();
}

void
scenario_server_end_look(void)
{
	TopMemoryContext = process_context;
	plh_guard_held = true;
}

/* A line of the log. */
static void
add_to_log(const char *message, const char *detail, const char *hint)
{
	appendStringInfo(&log_text, "LOG:  %s\n", message);
	if (detail[0] != '\0')
		appendStringInfo(&log_text, "DETAIL:  %s\n", detail);
	if (hint[0] != '\0')
		appendStringInfo(&log_text, "HINT:  %s\n", hint);
}

const char *
scenario_server_log(void)
{
	char	   *text = pstrdup(log_text.data);

	resetStringInfo(&log_text);
	return text;
}

/* The keeper looks for findings now. */
static void
keep(void)
{
	scenario_server_begin_look();
	kept_us = simulated_now_us();
	logged = add_to_log;
	plh_verdict_watch_look();
	logged = NULL;
	scenario_server_end_look();
}

void
scenario_server_keep(void)
{
	if (keeper_looks && simulated_now_us() >= kept_us + KEEPER_US)
		keep();
	if (server_limits_are_set() && simulated_now_us() >= limited_us + LIMIT_US)
	{
		limited_us = simulated_now_us();
		server_limits_look();
	}
}

/* In what time the keeper looks again; -1: never. */
static int64
next_look_us(void)
{
	int64		next_us = PG_INT64_MAX;

	if (keeper_looks)
		next_us = kept_us + KEEPER_US;
	if (server_limits_are_set())
		next_us = Min(next_us, limited_us + LIMIT_US);
	return next_us == PG_INT64_MAX ? -1 : Max(0, next_us - simulated_now_us());
}

void
scenario_server_wait(int64 us)
{
	while (next_look_us() >= 0 && us > 0)
	{
		int64		step = Min(us, next_look_us());

		simulated_wait(step);
		us -= step;
		scenario_server_keep();
	}
	simulated_wait(us);
}

/* The process writes to the log itself. */
void
scenario_server_log_by(PlhLimitReporter report, const PlhLimitExcess *excess)
{
	MemoryContext caller_context = CurrentMemoryContext;

	scenario_server_begin_look();
	plh_guard_held = true;
	logged = add_to_log;
	if (report != NULL)
		report(excess);
	else
	{
		TopMemoryContext = process_context; /* it counts its own */
		plh_exit_dump_write();
	}
	logged = NULL;
	scenario_server_end_look();
	CurrentMemoryContext = caller_context;
}

/* suppress PATTERN */
static void
suppress(Words *words)
{
	scenario_suppressions.entries = realloc(scenario_suppressions.entries,
											sizeof(PlhSuppression) * (scenario_suppressions.count + 1));
	plh_suppression_parse(&scenario_suppressions.entries[scenario_suppressions.count++],
						  strdup(words_next(words)), NULL);
}

/* baseline: growth is counted from now on */
static void
take_baseline(void)
{
	scenario_process_begin();
	scenario_server_begin_look();
	if (mkdir(plh_profile_directory_path(), S_IRWXU) != 0 && errno != EEXIST)
		abort();
	if (!plh_baseline_file_take(plh_profile_directory_path(), &scenario_image))
		abort();
	scenario_server_end_look();
}

bool
scenario_server_do(const char *command, Words *words)
{
	if (strcmp(command, "suppress") == 0)
		suppress(words);
	else if (strcmp(command, "baseline") == 0)
		take_baseline();
	else if (strcmp(command, "server") == 0)
	{
		if (!server_memory_set(words))
			server_limits_set(words);
	}
	else if (strcmp(command, "keeper") == 0)
	{
		words_expect(words, "looks");
		scenario_process_begin();
		keeper_looks = true;
		keep();
	}
	else
		return false;
	return true;
}


void
scenario_server_end(void)
{
	plh_baseline_unlink(plh_profile_directory_path(), MyProcPid);
	(void) rmdir(plh_profile_directory_path());
}
