/*
 * process_limit.c
 *	  Refuses an allocation where the process, or the server, has more memory than it may have.
 *
 * This code runs inside palloc.
 *
 * The server is prepared for an allocation that fails, but not everywhere: in a critical section it
 * is a PANIC, and while a transaction is aborted it would fail again.  What lasts as long as the
 * session may be left half made: so 15 crashes later where its statistics have got no memory
 * (test/random-limit has found that).  So an allocation is refused only if it ends with the
 * statement or transaction, and where these can end with an error (may_fail).  Until there is such
 * a one, each allocation is looked at.
 *
 * What counts is what the kernel says, since that is what it ends processes for.  Between two
 * answers, memory has grown by no more than a figure that takes one system call
 * (plh_process_facts_touched_bytes).  What malloc keeps for later is given back before anything is
 * refused.
 *
 * What no error can free belongs to the session.  Where the action is to end it, that comes when
 * its message is over, as it is idle then.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "base/allocator.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "profile/profile_file.h"
#include "sampler/countdown.h"
#include "sampler/lifetime.h"
#include "sampler/limit_places.h"
#include "sampler/process_limit.h"

/*
 * The kernel is asked for each of these bytes, or for this part of what the process has, so that
 * the keeper knows of them, and always where the process may be beyond its limit.
 */
#define ASK_BYTES ((int64) 4 * 1024 * 1024)
#define ASK_PART 16

/* In a build for tests (test/random-limit), one allocation of so many fails in any case. */
#ifndef PLH_RANDOM_LIMIT
#define PLH_RANDOM_LIMIT 0
#endif

/* Where each allocation takes the slow path, only these bytes together are looked at. */
#define LOOK_BYTES (PLH_RANDOM_LIMIT > 0 ? 1 : 65536)

/*
 * After a refusal so much is let through, by the samples: what handles the error copies it before
 * it frees the statement's memory, and a second error there would end the transaction.
 */
#define HANDLING_BYTES (PLH_RANDOM_LIMIT > 0 ? 0 : 1024 * 1024)

/* What malloc keeps is given back no more often than this. */
#define TRIM_US 1000000

/* With the action "log", what is this part of what was told is new. */
#define TOLD_FACTOR 2

/* Below this part of the limit, what was told is over. */
#define OVER_PART 8

static struct
{
	int64		own_bytes;		/* as the kernel said last; 0: not asked */
	int64		touched_bytes;	/* as of then */
	uint64		passed_bytes;	/* since an allocation was looked at */
	uint64		handling_bytes; /* that are let through yet */
	int64		trimmed_us;		/* when malloc gave back, monotonic */
	int64		told_bytes;		/* that the process had; 0: not told */
	bool		waits;			/* until an allocation may fail */
	bool		is_reporting;
	uint32		random;			/* the last number that was drawn */
}			state;

static PLH_SET_AT_LOAD PlhLimitReporter report;

static void message_over(void *arg);

/* A child that is forked has its context as its parent had it, callback included. */
static PLH_SURVIVES_FORK MemoryContextCallback message_callback = {message_over};
static PLH_SURVIVES_FORK bool awaits_message;

/* Errors are made in this context, or in one below it. */
static bool
is_of_error(MemoryContext context)
{
	while (context != NULL && context != ErrorContext)
		context = context->parent;
	return context != NULL;
}

/*
 * Does an allocation that fails there become an ERROR, and that the end of a transaction that is in
 * progress?  In a critical section it would be a PANIC; while an error is handled, or a transaction
 * aborted, there would be one error after another.  Interrupts are held off while locks of the
 * server are held, and while a transaction is committed or aborted.  While a PL begins a
 * subtransaction, from 17 on, an error ends the session.
 */
bool
plh_process_limit_may_fail(MemoryContext context)
{
	return CritSectionCount == 0 && InterruptHoldoffCount == 0 &&
		QueryCancelHoldoffCount == 0 && PG_exception_stack != NULL &&
		!ExitOnAnyError && !proc_exit_inprogress && IsTransactionState() &&
		!is_of_error(context) && !is_of_error(CurrentMemoryContext);
}

void
plh_process_limit_start(PlhLimitReporter reporter)
{
	report = reporter;
}

/* Is it a process that works for a client? */
static bool
works_for_client(void)
{
	return IsUnderPostmaster && (MyBackendType == B_BACKEND || IsParallelWorker());
}

/* Is it not to be looked at, as it comes out of our own code, or of a signal handler? */
static bool
is_passed_over(void)
{
	return plh_guard_held || state.is_reporting || CritSectionCount > 0 || !works_for_client();
}

/* Can an allocation fail here, and only its statement with it? */
static bool
may_fail(MemoryContext context)
{
	return !plh_lifetime_is_lasting(plh_lifetime_of(context)) &&
		plh_process_limit_may_fail(context);
}

/* Ask the kernel, and tell the keeper. */
static void
ask_kernel(int64 touched_bytes)
{
	state.own_bytes = plh_process_facts_own_bytes();
	state.touched_bytes = touched_bytes;
	if (plh_server_memory_limit > 0)
		plh_limit_places_note(state.own_bytes,
							  plh_profile != NULL ? plh_profile->passing_bytes : 0);
}

/* What the process may have at most by now, once a request is met. */
static int64
most_bytes(int64 touched_bytes, Size size)
{
	return state.own_bytes + Max(0, touched_bytes - state.touched_bytes) +
		(int64) Min(size, MaxAllocHugeSize / 2);
}

static bool
is_beyond_limit(int64 bytes)
{
	return plh_process_memory_limit > 0 && bytes > plh_process_memory_limit;
}

/* Ask the kernel where the last answer may be wrong by much, or by enough. */
static void
ask_kernel_if_due(Size size)
{
	int64		touched_bytes = plh_process_facts_touched_bytes();
	int64		grown = touched_bytes - state.touched_bytes;

	if (state.own_bytes == 0 || touched_bytes < 0 ||
		grown >= Max(ASK_BYTES, state.own_bytes / ASK_PART) ||
		is_beyond_limit(most_bytes(touched_bytes, size)))
		ask_kernel(touched_bytes);
}

/* Have malloc give back what it keeps, unless it has just done so. */
static void
trim(void)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (state.trimmed_us != 0 && now_us < state.trimmed_us + TRIM_US)
		return;
	state.trimmed_us = now_us;
	plh_allocator_release();
	ask_kernel(plh_process_facts_touched_bytes());
}

/* Does the build for tests let this one fail? */
static bool
is_unlucky(void)
{
	state.random = state.random * 1103515245 + 12345 + (uint32) getpid();
	return (state.random >> 8) % Max(PLH_RANDOM_LIMIT, 1) == 0;
}

/* Has the process more than it may have, once a request is met? */
static bool
is_process_beyond(Size size)
{
	ask_kernel_if_due(size);
	if (state.own_bytes < plh_process_memory_limit / OVER_PART * (OVER_PART - 1))
		state.told_bytes = 0;
	return is_beyond_limit(most_bytes(state.touched_bytes, size));
}

/* Has it, though malloc has given back what it keeps? */
static bool
is_process_surely_beyond(Size size)
{
	if (!is_process_beyond(size))
		return false;
	trim();
	return is_beyond_limit(most_bytes(state.touched_bytes, size));
}

/* Find what is beyond a limit, if an allocation of that size is. */
static bool
find_excess(PlhLimitExcess *excess)
{
	if (PLH_RANDOM_LIMIT > 0 ? is_unlucky() : is_process_surely_beyond(excess->request_bytes))
		excess->limit_bytes = plh_process_memory_limit;
	else if (plh_server_memory_limit > 0 && plh_limit_places_take(PLH_LIMIT_END_STATEMENT))
	{
		excess->of_server = true;
		excess->limit_bytes = plh_server_memory_limit;
	}
	else
		return false;
	excess->own_bytes = state.own_bytes;
	return true;
}

/* Is it only to be told, and was it? */
static bool
was_told(const PlhLimitExcess *excess)
{
	int64		bytes = excess->own_bytes +
		(int64) Min(excess->request_bytes, MaxAllocHugeSize / 2);

	if (excess->action != PLH_LIMIT_LOG)
		return false;
	if (state.told_bytes != 0 && bytes < TOLD_FACTOR * state.told_bytes)
		return true;
	state.told_bytes = bytes;
	return false;
}

/* Tell of it, and count it. */
static void
tell(const PlhLimitExcess *excess)
{
	int			saved_errno = errno;

	state.is_reporting = true;
	if (plh_profile != NULL)
		plh_profile->limit_hits++;
	plh_limit_places_count_hit();
	report(excess);
	state.is_reporting = false;
	errno = saved_errno;
}

/* Look again when the message is over. */
static void
await_message(void)
{
	if (awaits_message || MessageContext == NULL || MyBackendType != B_BACKEND)
		return;
	awaits_message = true;
	MemoryContextRegisterResetCallback(MessageContext, &message_callback);
}

/* Act on it.  Returns whether the allocation is to fail. */
static bool
act(const PlhLimitExcess *excess)
{
	if (!excess->of_server && excess->action == PLH_LIMIT_TERMINATE)
		await_message();
	if (was_told(excess))
		return false;
	tell(excess);
	return excess->action != PLH_LIMIT_LOG;
}

/* Is it time to look at an allocation of that size and interval? */
static bool
is_time(Size size, uint32 interval)
{
	uint64		bytes = (uint64) size + interval;

	if (bytes < state.handling_bytes)
	{
		state.handling_bytes -= bytes;
		return false;
	}
	state.handling_bytes = 0;
	state.passed_bytes += interval == 0 ? LOOK_BYTES : bytes;
	if (state.passed_bytes < LOOK_BYTES && !state.waits)
		return false;
	state.passed_bytes = 0;
	return true;
}

/* An allocation may not fail: if one should, the next is to be looked at. */
static void
wait_for_another(Size size)
{
	state.waits = PLH_RANDOM_LIMIT == 0 &&
		(is_process_beyond(size) ||
		 (plh_server_memory_limit > 0 && plh_limit_places_is_asked(PLH_LIMIT_END_STATEMENT)));
	if (state.waits)
		plh_countdown_hurry();
}

bool
plh_process_limit_asks(MemoryContext context, Size size, uint32 interval)
{
	PlhLimitExcess excess = {
		.action = plh_limit_action,.context = context,.request_bytes = size
	};

	if (is_passed_over() || !is_time(size, interval))
		return false;
	if (!may_fail(context))
	{
		wait_for_another(size);
		return false;
	}
	state.waits = false;
	if (!find_excess(&excess) || !act(&excess))
		return false;
	state.handling_bytes = HANDLING_BYTES;
	return true;
}

/* End the session, which is idle. */
static void
end_session(bool of_server)
{
	PlhLimitExcess excess = {
		.of_server = of_server,.ends_session = true,.action = PLH_LIMIT_TERMINATE,
		.limit_bytes = of_server ? plh_server_memory_limit : plh_process_memory_limit,
		.own_bytes = state.own_bytes
	};

	tell(&excess);
	(void) kill(getpid(), SIGTERM);
}

static bool
may_end(void)
{
	return plh_limit_action == PLH_LIMIT_TERMINATE && IsUnderPostmaster &&
		MyBackendType == B_BACKEND && !plh_guard_held && !state.is_reporting &&
		CritSectionCount == 0 && !proc_exit_inprogress;
}

static void
message_over(void *arg)
{
	awaits_message = false;
	if (may_end() && is_process_surely_beyond(0))
		end_session(false);
}

void
plh_process_limit_counted(void)
{
	if (plh_server_memory_limit > 0 && works_for_client())
		plh_limit_places_note(plh_profile->own_bytes, plh_profile->passing_bytes);
	if (plh_limit_action == PLH_LIMIT_TERMINATE && is_beyond_limit(plh_profile->own_bytes))
		await_message();
}

/* The keeper has woken the session, which is idle: no statement of it holds anything. */
static void
answer_keeper(void)
{
	bool		ends = plh_limit_places_take(PLH_LIMIT_END_SESSION);

	(void) plh_limit_places_take(PLH_LIMIT_END_STATEMENT);
	ask_kernel(plh_process_facts_touched_bytes());
	plh_limit_places_note(state.own_bytes, 0);
	if (ends && may_end())
		end_session(true);
}

/* A commit without a statement, by a session that does not just begin: the keeper has woken it. */
void
plh_process_limit_committed(void)
{
	if (plh_server_memory_limit <= 0)
		return;
	plh_limit_places_note_action();
	if (debug_query_string == NULL && IsNormalProcessingMode() &&
		works_for_client() && !plh_guard_held)
		answer_keeper();
}

PLH_EVERY_PROCESS void
plh_process_limit_forget(void)
{
	memset(&state, 0, sizeof(state));
}
