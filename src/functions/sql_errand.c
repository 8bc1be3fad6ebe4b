/*
 * sql_errand.c
 *	  Waits until another process has done what it was asked to.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "base/clock.h"
#include "functions/sql_errand.h"

/* Most answers come within the first of the short steps. */
#define SHORT_STEP_US 50
#define SHORT_STEPS 20
#define STEP_MS 5

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

bool
plh_sql_errand_wait(PlhErrand errand, int pid, uint32 request, int64 most_us, int64 *result)
{
	int64		until_us = plh_clock_us(CLOCK_MONOTONIC) + most_us;

	for (int step = 0; !plh_errands_is_done(errand, pid, request, result); step++)
	{
		if (plh_clock_us(CLOCK_MONOTONIC) >= until_us)
			return false;
		wait_a_step(step);
	}
	return true;
}
