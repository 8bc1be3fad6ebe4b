/*
 * sql_moment.c
 *	  Current figures of a process that somebody asks about.
 *
 * The process answers at its next check for interrupts, which an idle session does at once, or at
 * its next sample.  One that is stopped, or does neither for another reason, is not waited for.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/procsignal.h"

#include "base/clock.h"
#include "functions/sql_access.h"
#include "functions/sql_errand.h"
#include "functions/sql_moment.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "sampler/doorbell.h"
#include "sampler/upkeep.h"

/* It is waited for this long. */
#define WAIT_US 200000

/* And many for this long. */
#define MOST_US 2000000

/* May the caller look at it, and is there an answer to be seen? */
static bool
may_ask(int pid)
{
	const PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, true);

	return image != NULL && image->alive &&
		plh_sql_access_shows(plh_sql_access_sees_all(), image->header);
}

/* Ask a process to count.  Returns the number of the request; 0: there is nothing to wait for. */
static uint32
ask(int pid)
{
	uint32		request = plh_errands_ask(PLH_ERRAND_COUNT, pid);

	if (request != 0 && pid == MyProcPid)
	{
		plh_upkeep_if_asked();
		return 0;
	}
	return request != 0 && SendProcSignal(pid, PLH_DOORBELL, -1) == 0 ? request : 0;
}

void
plh_sql_moment_of(int pid)
{
	uint32		request = pid > 0 && may_ask(pid) ? ask(pid) : 0;
	int64		result;

	if (request != 0)
		(void) plh_sql_errand_wait(PLH_ERRAND_COUNT, pid, request, WAIT_US, &result);
}

/* Those who were asked, and their requests. */
typedef struct Asked
{
	MemoryContext memory;
	List	   *pids;
	List	   *requests;
} Asked;

/* PlhProfileVisitor: ask a process. */
static void
ask_visited(PlhProfileImage *image, void *arg)
{
	Asked	   *asked = arg;
	int			pid = image->header->pid;
	MemoryContext caller_context;
	uint32		request = image->alive ? ask(pid) : 0;

	if (request == 0)
		return;
	caller_context = MemoryContextSwitchTo(asked->memory);
	asked->pids = lappend_int(asked->pids, pid);
	asked->requests = lappend_int(asked->requests, (int) request);
	MemoryContextSwitchTo(caller_context);
}

/*
 * Many processes share processors, so that each has its time from when another has answered.  Those
 * that do not answer, such as auxiliary processes, are not waited for one after the other.
 */
void
plh_sql_moment_of_all(void)
{
	Asked		asked = {.memory = CurrentMemoryContext};
	int64		began_us;
	int64		answered_us;
	ListCell   *pid;
	ListCell   *request;

	plh_sql_access_visit(plh_sql_access_sees_all(), 0, ask_visited, &asked);
	began_us = answered_us = plh_clock_us(CLOCK_MONOTONIC);
	forboth(pid, asked.pids, request, asked.requests)
	{
		int64		until_us = Min(answered_us + WAIT_US, began_us + MOST_US);
		int64		result;

		if (plh_sql_errand_wait(PLH_ERRAND_COUNT, lfirst_int(pid), (uint32) lfirst_int(request),
								until_us - plh_clock_us(CLOCK_MONOTONIC), &result))
			answered_us = plh_clock_us(CLOCK_MONOTONIC);
	}
}
