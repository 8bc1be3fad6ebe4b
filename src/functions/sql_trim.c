/*
 * sql_trim.c
 *	  The function of SQL that has a process give back what malloc keeps.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/procsignal.h"

#include "base/clock.h"
#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "process/trim.h"
#include "reader/server_processes.h"

/* It is waited for so long. */
#define WAIT_US INT64CONST(5000000)
#define STEP_MS 10

PLH_FUNCTION(pg_leakhunt_trim);

/* Throw an ERROR where malloc is not glibc's, which no other way is known of. */
static void
check_malloc(int pid)
{
	const PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, true);

	if (image != NULL && image->alive && image->header->census_at != 0 &&
		image->header->malloc_bytes < 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("malloc of process %d is not glibc's", pid),
						errdetail("Only glibc's malloc can be told to give back what it keeps.")));
}

/*
 * Does it run transactions?  After these it looks for requests.  If not, a WARNING says so.
 */
static bool
check_transactions(int pid)
{
	if (BackendPidGetProc(pid) != NULL)
		return true;
	ereport(WARNING, (errmsg("process %d cannot be asked to give back memory", pid),
					  errdetail("It runs no transactions, after which it could do so.")));
	return false;
}

/*
 * Let a process that is idle end a transaction: this is how the server itself has it read messages
 * that it has missed.
 */
static void
wake(int pid)
{
	(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT, -1);
}

/* Wait until it is done.  Returns false if that takes too long. */
static bool
wait_for(int pid, uint32 request, int64 *bytes)
{
	int64		until_us = plh_clock_us(CLOCK_MONOTONIC) + WAIT_US;

	while (!plh_trim_is_done(pid, request, bytes))
	{
		if (plh_clock_us(CLOCK_MONOTONIC) >= until_us)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
						 STEP_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Have another process, or this one, do it. */
static bool
have_trimmed(int pid, int64 *bytes)
{
	uint32		request = plh_trim_ask(pid);

	if (request == 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("could not make the request to process %d", pid),
						errdetail("Requests are made through a file in directory \"%s\", which could not be opened.",
								  plh_profile_directory_path())));
	if (pid == MyProcPid)
		plh_trim_if_asked();
	else
		wake(pid);
	return wait_for(pid, request, bytes);
}

/*
 * pg_leakhunt_trim(pid): have a process give back what malloc keeps.  Returns by how much its
 * private memory has become smaller; null if it has not done so within seconds.
 */
Datum
pg_leakhunt_trim(PG_FUNCTION_ARGS)
{
	int64		bytes = 0;
	int			pid;

	plh_sql_rows_check_arguments(fcinfo, 1);
	pid = plh_sql_rows_get_pid(fcinfo, 0);
	plh_sql_source_check_active();
	if (!plh_server_processes_check(pid) || !plh_sql_access_check_loaded(pid) ||
		!check_transactions(pid))
		PG_RETURN_NULL();
	check_malloc(pid);
	if (have_trimmed(pid, &bytes))
		PG_RETURN_INT64(bytes);
	ereport(NOTICE, (errmsg("process %d has not given back memory yet", pid),
					 errdetail("It will do so when its transaction ends.")));
	PG_RETURN_NULL();
}
