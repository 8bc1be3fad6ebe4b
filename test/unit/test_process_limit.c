/*
 * test_process_limit.c
 *	  Where a memory limit refuses an allocation, where it must not, and what the keeper
 *	  may ask for.
 */
#include "postgres.h"

#include <malloc.h>
#include <signal.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "sampler/countdown.h"
#include "sampler/lifetime.h"
#include "server.h"
#include "unit_tests.h"

#define MB ((int64) 1024 * 1024)

/* What the process is, and what it has. */
static BackendType backend_type = B_BACKEND;
static bool in_transaction = true;
static uint32 holdoffs;
static uint32 cancel_holdoffs;
static bool exits;
static sigjmp_buf somewhere;
static sigjmp_buf *exception_stack = &somewhere;
static MemoryContext current_context;
static const char *query = "SELECT 1";
static int64 own_bytes;
static int64 touched_bytes;
static int64 freed_in_malloc;
static int	trims;
static int	kernel_answers;
static int	signals;
static int	hurries;
static PlhLifetime lifetime = PLH_LIFETIME_STATEMENT;
static uint64 now_us = 1000000000;

static int64
own_stub(void)
{
	kernel_answers++;
	return own_bytes;
}

static int64
touched_stub(void)
{
	return touched_bytes;
}

/* The process has that much from now on; what it has more was touched. */
static void
set_own(int64 bytes)
{
	touched_bytes += Max(0, bytes - own_bytes);
	own_bytes = bytes;
}

static void
release_stub(void)
{
	trims++;
	own_bytes -= freed_in_malloc;
	freed_in_malloc = 0;
}

static int
kill_stub(pid_t pid, int signal)
{
	signals += pid == getpid() && signal == SIGTERM;
	return 0;
}

static bool
transaction_stub(void)
{
	return in_transaction;
}

static PlhLifetime
lifetime_stub(MemoryContext context)
{
	return lifetime;
}

static void
hurry_stub(void)
{
	hurries++;
}

static int64
clock_stub(clockid_t clock)
{
	return now_us;
}

#define MyBackendType backend_type
#define InterruptHoldoffCount holdoffs
#define QueryCancelHoldoffCount cancel_holdoffs
#define PG_exception_stack exception_stack
#define proc_exit_inprogress exits
#define CurrentMemoryContext current_context
#define debug_query_string query
#define IsTransactionState transaction_stub
#define plh_process_facts_own_bytes own_stub
#define plh_process_facts_touched_bytes touched_stub
#define plh_clock_us clock_stub
#define plh_lifetime_of lifetime_stub
#define plh_countdown_hurry hurry_stub
#define plh_allocator_release release_stub
#define kill kill_stub
#define message_over limit_message_over
#define message_callback limit_message_callback
#define await_message limit_await_message
#define awaits_message limit_awaits_message
#include "sampler/limit_places.c"
#include "sampler/process_limit.c"

static PlhControlFile control_file;
static MemoryContextData plain;
static MemoryContextData message;
static MemoryContextData error;
static MemoryContextData below_error = {.parent = &error};

/* What was reported last, and how often. */
static PlhLimitExcess told;
static int	tellings;

static void
report_stub(const PlhLimitExcess *excess)
{
	told = *excess;
	tellings++;
}

/* Does an allocation fail, of that size and of the next sample, when no error is handled? */
static bool
fails(Size size)
{
	state.handling_bytes = 0;
	return plh_process_limit_refuses(&plain, size, 0);
}

/* Begin anew, with that limit and that action. */
static void
begin(int64 limit_bytes, int action)
{
	plh_process_memory_limit = limit_bytes;
	plh_server_memory_limit = 0;
	plh_limit_action = action;
	set_own(10 * MB);
	kernel_answers = trims = signals = tellings = 0;
	plh_process_limit_forget();
	now_us += 2 * TRIM_US;
}

static void
test_limit(void)
{
	begin(0, PLH_LIMIT_ERROR);
	set_own(INT64CONST(1) << 40);
	ok(!fails(1) && kernel_answers == 0, "without a limit nothing fails, and nobody is asked");
	begin(100 * MB, PLH_LIMIT_ERROR);
	ok(!fails(8192) && kernel_answers == 1 && !fails(8192) && kernel_answers == 1,
	   "far below its limit a process is not looked at again");
	set_own(100 * MB);
	ok(fails(8192), "beyond it, an allocation fails");
	ok(told.own_bytes == 100 * MB && told.limit_bytes == 100 * MB && told.request_bytes == 8192 &&
	   told.context == &plain && !told.of_server && !told.ends_session &&
	   told.action == PLH_LIMIT_ERROR && plh_profile->limit_hits > 0, "what is told of it is so");
	set_own(50 * MB);
	ok(fails(51 * MB) && !fails(49 * MB), "the size of a large one counts before it is made");
	ok(fails(SIZE_MAX), "so does one that is no size");
	set_own(110 * MB);
	freed_in_malloc = 20 * MB;
	now_us += TRIM_US;
	ok(!fails(8192) && trims > 0, "what malloc keeps is given back before anything fails");
	trims = 0;
	set_own(110 * MB);
	ok(fails(8192) && fails(8192) && trims == 0, "but not again within a second");
	set_own(50 * MB);
}

/* With interval 1, each allocation is looked at no more often than others are. */
static void
test_small_intervals(void)
{
	int			failures = 0;

	begin(100 * MB, PLH_LIMIT_ERROR);
	set_own(101 * MB);
	for (int i = 0; i < 6500; i++)
	{
		state.handling_bytes = 0;
		failures += plh_process_limit_refuses(&plain, 99, 1);
	}
	ok(failures >= 8 && failures <= 10, "small allocations are looked at once in 64 kB");
}

/* What handles the error of a refusal is let through, as far as a megabyte takes it. */
static void
test_handling(void)
{
	begin(100 * MB, PLH_LIMIT_ERROR);
	set_own(101 * MB);
	ok(fails(8192) && !plh_process_limit_refuses(&plain, MB / 2, 0) &&
	   !plh_process_limit_refuses(&plain, MB / 4, MB / 8), "after a refusal, what handles the error does not fail");
	ok(plh_process_limit_refuses(&plain, MB / 2, 0), "what goes beyond that does");
}

static void
test_places(void)
{
	int			others = 0;

	begin(100 * MB, PLH_LIMIT_ERROR);
	set_own(101 * MB);
	ok(fails(1), "an allocation beyond the limit fails");
	CritSectionCount = 1;
	ok(!fails(1), "but not in a critical section");
	kernel_answers = 0;
	set_own(150 * MB);
	ok(!fails(1) && kernel_answers == 0, "where the kernel is not even asked");
	set_own(101 * MB);
	CritSectionCount = 0;
	holdoffs = 1;
	ok(!fails(1), "nor with interrupts held off");
	holdoffs = 0;
	cancel_holdoffs = 1;
	ok(!fails(1), "nor with cancels held off");
	cancel_holdoffs = 0;
	in_transaction = false;
	ok(!fails(1), "nor while a transaction is committed or aborted");
	in_transaction = true;
	ExitOnAnyError = true;
	ok(!fails(8192), "nor where an error would end the session");
	ExitOnAnyError = false;
	exits = true;
	ok(!fails(1), "nor at exit");
	exits = false;
	exception_stack = NULL;
	ok(!fails(1), "nor where an ERROR would be FATAL");
	exception_stack = &somewhere;
	ok(!plh_process_limit_refuses(&error, 1, 0) && !plh_process_limit_refuses(&below_error, 1, 0),
	   "nor in the contexts of an error");
	current_context = &error;
	ok(!fails(1), "nor while one is handled");
	current_context = &plain;
	hurries = 0;
	lifetime = PLH_LIFETIME_SESSION;
	ok(!fails(1) && hurries == 1, "nor what lasts as long as the session, but the next one is looked at");
	lifetime = PLH_LIFETIME_STATEMENT;
	ok(plh_process_limit_refuses(&plain, 1, 1), "however small it is");
	ok(fails(1) && hurries == 1, "then each is looked at as before");
	plh_guard_held = true;
	ok(!fails(1), "nor in a signal handler that interrupted us");
	plh_guard_held = false;
	IsUnderPostmaster = false;
	ok(!fails(1), "nor in the postmaster");
	IsUnderPostmaster = true;
	for (int type = 0; type < 32; type++)
	{
		backend_type = type;
		others += type != B_BACKEND && fails(1);
	}
	ok(others == 0, "nor in processes that are no sessions");
	backend_type = B_BG_WORKER;
	ParallelWorkerNumber = 0;
	ok(fails(1), "but in those of a parallel query it does");
	ParallelWorkerNumber = -1;
	backend_type = B_BACKEND;
}

static void
test_log_only(void)
{
	begin(100 * MB, PLH_LIMIT_LOG);
	set_own(101 * MB);
	ok(!fails(1) && tellings == 1 && told.action == PLH_LIMIT_LOG, "with log, it is told and does not fail");
	set_own(190 * MB);
	ok(!fails(1) && tellings == 1, "it is told once");
	set_own(203 * MB);
	ok(!fails(1) && tellings == 2, "and again when it has doubled");
	set_own(99 * MB);
	(void) fails(1);
	set_own(101 * MB);
	ok(!fails(1) && tellings == 2, "a little less in between makes it no other");
	set_own(20 * MB);
	set_own(30 * MB);
	(void) fails(1);
	set_own(110 * MB);
	ok(!fails(1) && tellings == 3, "it is told once more when it was over");
}

static void
test_sessions(void)
{
	begin(100 * MB, PLH_LIMIT_TERMINATE);
	set_own(101 * MB);
	ok(fails(1) && message.reset_cbs != NULL, "with terminate, it fails, and its session is looked at when idle");
	set_own(50 * MB);
	plh_process_limit_forget();
	reset_context(&message);
	ok(signals == 0, "one that has given it back stays");
	set_own(101 * MB);
	(void) fails(1);
	reset_context(&message);
	ok(signals == 1 && told.ends_session && told.context == NULL, "one that has not is ended");
	plh_limit_action = PLH_LIMIT_ERROR;
	(void) fails(1);
	ok(message.reset_cbs == NULL, "with error none is");
	plh_limit_action = PLH_LIMIT_TERMINATE;
	plh_profile->own_bytes = 101 * MB;
	plh_process_limit_counted();
	ok(message.reset_cbs != NULL, "so is one that was counted beyond its limit");
	plh_guard_held = true;
	reset_context(&message);
	plh_guard_held = false;
	ok(signals == 1, "but not in a signal handler");
	plh_profile->own_bytes = 0;
}

static void
test_server(void)
{
	int			pid = (int) getpid();
	ProcessingMode mode_before = Mode;
	PlhLimitPlace place;

	begin(0, PLH_LIMIT_ERROR);
	plh_server_memory_limit = 1000 * MB;
	set_own(101 * MB);
	plh_profile->passing_bytes = 7 * MB;
	ok(!fails(1), "nothing fails as long as nobody is asked");
	place = plh_limit_places_read(pid % PLH_CONTROL_LIMITS);
	ok(place.pid == pid && place.own_bytes == 101 * MB && place.passing_bytes == 7 * MB &&
	   place.action == PLH_LIMIT_ERROR, "the keeper sees what the process has");
	set_own(103 * MB);
	(void) fails(1);
	ok(plh_limit_places_read(pid % PLH_CONTROL_LIMITS).own_bytes == 101 * MB, "small changes are not told");
	set_own(120 * MB);
	(void) fails(1);
	ok(plh_limit_places_read(pid % PLH_CONTROL_LIMITS).own_bytes == 120 * MB, "large ones are");
	plh_limit_places_ask(pid, PLH_LIMIT_END_STATEMENT);
	ok(plh_limit_places_awaits(pid) && fails(1) && told.of_server && told.limit_bytes == 1000 * MB,
	   "one that is asked to end its statement does so");
	ok(!plh_limit_places_awaits(pid) && !fails(1), "once");
	plh_limit_places_ask(pid, PLH_LIMIT_END_STATEMENT);
	plh_limit_places_ask_no_more(pid);
	ok(!fails(1), "what was taken back is not done");
	plh_limit_places_ask(pid + PLH_CONTROL_LIMITS, PLH_LIMIT_END_STATEMENT);
	ok(!fails(1), "nor what another process of the same place is asked");
	plh_limit_places_ask(pid, PLH_LIMIT_END_SESSION);
	ok(!fails(1), "one that is asked to end its session ends no statement");
	query = NULL;
	Mode = InitProcessing;
	plh_process_limit_committed();
	ok(plh_limit_places_awaits(pid), "one that just begins looks at nothing");
	Mode = NormalProcessing;
	plh_process_limit_committed();
	ok(signals == 0 && !plh_limit_places_awaits(pid), "nor its session, where that is not the action");
	plh_limit_places_ask(pid, PLH_LIMIT_END_STATEMENT);
	plh_process_limit_committed();
	place = plh_limit_places_read(pid % PLH_CONTROL_LIMITS);
	ok(place.own_bytes == 120 * MB && place.passing_bytes == 0 && !plh_limit_places_awaits(pid),
	   "an idle one tells that it has no statement that could end");
	plh_limit_places_ask(pid, PLH_LIMIT_END_SESSION);
	plh_limit_action = PLH_LIMIT_TERMINATE;
	query = "SELECT 1";
	plh_process_limit_committed();
	ok(signals == 0 && plh_limit_places_read(pid % PLH_CONTROL_LIMITS).action == PLH_LIMIT_TERMINATE,
	   "nor while a statement runs; the keeper learns of another action");
	query = NULL;
	plh_process_limit_committed();
	ok(signals == 1 && told.of_server && told.ends_session && !plh_limit_places_awaits(pid), "but when it is idle");
	query = "SELECT 1";
	Mode = mode_before;
}

void
test_process_limit(void)
{
	static PlhProfileHeader header;
	PlhProfileHeader *profile = plh_profile;
	PlhControlFile *file = plh_control_file;
	MemoryContext message_before = MessageContext;
	MemoryContext error_before = ErrorContext;
	bool		was_held = plh_guard_held;

	plh_profile = &header;
	plh_control_file = &control_file;
	MessageContext = &message;
	ErrorContext = &error;
	current_context = &plain;
	plh_guard_held = false;
	plh_process_limit_start(report_stub);
	test_limit();
	test_small_intervals();
	test_handling();
	test_places();
	test_log_only();
	test_sessions();
	test_server();
	begin(0, PLH_LIMIT_LOG);
	plh_profile = profile;
	plh_control_file = file;
	MessageContext = message_before;
	ErrorContext = error_before;
	plh_guard_held = was_held;
}
