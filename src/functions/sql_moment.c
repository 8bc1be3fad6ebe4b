/*
 * sql_moment.c
 *	  Figures of now, of a process that somebody asks about.
 *
 * The process answers at its next check for interrupts, which an idle session does at once, or at
 * its next sample.  One that is stopped, or does neither for another reason, is not waited for.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/procsignal.h"

#include "base/clock.h"
#include "functions/sql_access.h"
#include "functions/sql_moment.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "sampler/doorbell.h"
#include "sampler/errands.h"
#include "sampler/upkeep.h"

/* It is waited for this long.  Most answers come within the first of the short steps. */
#define WAIT_US 200000
#define SHORT_STEP_US 50
#define SHORT_STEPS 20
#define STEP_MS 5

/* May the caller look at it, and is there an answer to be seen? */
static bool
may_ask(int pid)
{
	const PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, true);

	return image != NULL && image->alive &&
		plh_sql_access_shows(plh_sql_access_sees_all(), image->header);
}

static void
wait_a_step(int step)
{
	if (step < SHORT_STEPS)
		pg_usleep(SHORT_STEP_US);
	else
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
						 STEP_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
}

static void
wait_for(int pid, uint32 request)
{
	int64		until_us = plh_clock_us(CLOCK_MONOTONIC) + WAIT_US;
	int64		result;

	for (int step = 0; !plh_errands_is_done(PLH_ERRAND_COUNT, pid, request, &result) &&
		 plh_clock_us(CLOCK_MONOTONIC) < until_us; step++)
		wait_a_step(step);
}

void
plh_sql_moment_of(int pid)
{
	uint32		request;

	if (pid <= 0 || !may_ask(pid))
		return;
	request = plh_errands_ask(PLH_ERRAND_COUNT, pid);
	if (request == 0)
		return;
	if (pid == MyProcPid)
		plh_upkeep_if_asked();
	else if (SendProcSignal(pid, PLH_DOORBELL, -1) == 0)
		wait_for(pid, request);
}
