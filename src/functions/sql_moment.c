/*
 * sql_moment.c
 *	  Current figures of a process that somebody asks about.
 *
 * The process answers at its next check for interrupts, which an idle session does at once, or at
 * its next sample.  One that is stopped, or does neither for another reason, is not waited for.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procsignal.h"

#include "functions/sql_access.h"
#include "functions/sql_errand.h"
#include "functions/sql_moment.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "sampler/doorbell.h"
#include "sampler/upkeep.h"

/* It is waited for this long. */
#define WAIT_US 200000

/* May the caller look at it, and is there an answer to be seen? */
static bool
may_ask(int pid)
{
	const PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, true);

	return image != NULL && image->alive &&
		plh_sql_access_shows(plh_sql_access_sees_all(), image->header);
}

void
plh_sql_moment_of(int pid)
{
	uint32		request;
	int64		result;

	if (pid <= 0 || !may_ask(pid))
		return;
	request = plh_errands_ask(PLH_ERRAND_COUNT, pid);
	if (request == 0)
		return;
	if (pid == MyProcPid)
		plh_upkeep_if_asked();
	else if (SendProcSignal(pid, PLH_DOORBELL, -1) == 0)
		(void) plh_sql_errand_wait(PLH_ERRAND_COUNT, pid, request, WAIT_US, &result);
}
