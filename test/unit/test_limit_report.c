/*
 * test_limit_report.c
 *	  What the log says of a process that is at a memory limit.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/client_names.h"
#include "base/guard.h"
#include "logged_line.h"
#include "process/errors.h"
#include "process/log_turns.h"
#include "profile/dump_copy.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"

#define MB ((int64) 1024 * 1024)

static PlhLogTurn next_turn;
static bool has_turn = true;
static int	dumps;

static bool
turn_stub(PlhLogTurn *turn)
{
	*turn = next_turn;
	return has_turn;
}

static bool
dump_stub(const PlhProfileImage *image, const PlhDumpExtras *extras, PlhDumpResult *result)
{
	dumps += plh_guard_held && strcmp(extras->reason, "limit") == 0;
	strcpy(result->path, "/dumps/7.dump");
	return true;
}

static bool
catch_stub(void (*work) (void *arg), void *arg, const char *failure)
{
	work(arg);
	return true;
}

static const char *
time_stub(TimestampTz time)
{
	return psprintf("%lld", (long long) time);
}

static const char *
name_stub(void)
{
	return "shop";
}

#define plh_log_turns_take_limit turn_stub
#define plh_dump_copy_write dump_stub
#define plh_errors_catch_of_file catch_stub
#define timestamptz_to_str time_stub
#define plh_client_names_role name_stub
#define plh_client_names_database name_stub
#define plh_client_names_application name_stub
#define MyDatabaseId 5
#define GetConfigOption(name, missing_ok, restrict) NULL
#define pg_mbcliplen(text, bytes, limit) Min(bytes, limit)
#include "process/limit_report.c"
#include "process/report_detail.c"

#include "unit_tests.h"

/* A statement holds that in a context, at a call site of its own. */
static void
hold(const char *statement, const char *context, Size bytes)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};
	PlhDraw		exact = {.interval_bytes = 1};

	stack.addresses = stack.buffer;
	stack.depth = 1;
	stack.buffer[0] = 0x1000 + bytes;
	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(context, PLH_CONTEXT_NAME_MAX);
	key.statement = plh_profile_statement(0, statement);
	plh_profile_counters_add(plh_profile_site(&key), bytes, 0, exact);
}

static bool
says(const char *part)
{
	return strstr(logged_line.detail, part) != NULL;
}

/* The message without the process. */
static bool
is_message(const char *part)
{
	return strstr(logged_line.message, part) != NULL;
}

static void
test_excess(PlhLimitExcess *excess)
{
	plh_limit_report(excess);
	ok(logged_line.count == 1 && logged_line.level == LOG_SERVER_ONLY &&
	   is_message("process 4711 has reached pg_leakhunt.process_memory_limit: it has 101 MB of 100 MB") &&
	   !is_message("needs"), "the log tells which limit a process has reached, and no client does");
	ok(says("Process: ") && says("user \"shop\"") && says("  Its statement ends with the error \"out of memory\"."),
	   "it tells whose process that is, and what comes of it");
	ok(says("The allocation was of 8192 bytes in context \"ExecutorState\"."), "which allocation is refused");
	ok(says("In its memory contexts are 6144 kB (estimated from samples), 4096 kB of it by ") &&
	   says(" in ExprContext."), "what it holds, and where most of it");
	ok(says("  Statement: SELECT the_most"), "and for which statement");
	ok(dumps == 1 && strstr(logged_line.hint, "pg_leakhunt_report('7.dump')") != NULL, "a dump of it is named");
	excess->request_bytes = 10 * MB;
	plh_limit_report(excess);
	ok(is_message("it has 101 MB of 100 MB, and needs 10 MB more"), "a large allocation is told beside what it has");
	excess->action = PLH_LIMIT_LOG;
	excess->of_server = true;
	plh_limit_report(excess);
	ok(is_message("the server has reached pg_leakhunt.server_memory_limit (100 MB): process 4711 has 101 MB") &&
	   says("Nothing is done about it"), "the server's limit is told, too, and that nothing is done");
	excess->ends_session = true;
	excess->context = NULL;
	plh_limit_report(excess);
	ok(says("Its session is ended") && !says("The allocation"), "a session that is ended allocates nothing");
}

static void
test_turns(const PlhLimitExcess *excess)
{
	next_turn = (PlhLogTurn)
	{
		.left_out = 2,.left_out_from = 111,.ends_at = 222
	};
	plh_limit_report(excess);
	ok(says("2 more such lines were not logged in the minute that began at 111.") && !says("Further"),
	   "lines that were left out are told");
	next_turn = (PlhLogTurn)
	{
		.is_last = true,.left_out_from = 111,.ends_at = 222
	};
	plh_limit_report(excess);
	ok(says("Further such lines are not logged until 222.") && !says("more such"), "and until when further ones are");
	has_turn = false;
	logged_line.count = 0;
	plh_limit_report(excess);
	ok(logged_line.count == 0, "without a turn nothing is logged");
}

void
test_limit_report(void)
{
	MemoryContextData context = {.name = "ExecutorState"};
	PlhLimitExcess excess = {
		.action = PLH_LIMIT_ERROR,.limit_bytes = 100 * MB,.own_bytes = 101 * MB,
		.context = &context,.request_bytes = 8192
	};
	bool		was_held = plh_guard_held;

	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	hold("SELECT less", "ExecutorState", 2 * MB);
	hold("SELECT the_most", "ExprContext", 4 * MB);
	plh_guard_held = false;
	test_excess(&excess);
	test_turns(&excess);
	plh_guard_held = was_held;
	plh_profile_forget();
	plh_profile_counters_forget();
}
