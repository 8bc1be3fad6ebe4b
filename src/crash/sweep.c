/*
 * sweep.c
 *	  Bounds what a crash has left in the directory of the profiles.
 *
 * A crash leaves a profile of every backend, in memory.  The postmaster removes those that are too
 * many before it goes on, once it has noted in each how its process died.  It reads headers only,
 * and makes no dumps (crash_dumps.h).  Nothing here may stop a server from starting.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "crash/child_deaths.h"
#include "crash/crashed_profiles.h"
#include "crash/sweep.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "profile/statements_file.h"

static shmem_startup_hook_type prev_shmem_startup_hook;

/* Note how processes died, in the profiles that they have left. */
static void
note_deaths(void *arg)
{
	plh_child_deaths_note(plh_crashed_profiles_list(plh_profile_directory_path()));
}

static void
sweep_directory(void *arg)
{
	const char *directory = plh_profile_directory_path();

	/* a server that starts has no start time yet: all are a former one's */
	if (PgStartTime != 0)
		note_deaths(NULL);
	plh_statements_file_break_lock();
	(void) plh_crashed_profiles_bound(directory, plh_crashed_profiles_list(directory));
	plh_crashed_profiles_remove_unpublished(directory);
}

/*
 * Callback before_shmem_exit: after a crash all children are gone by now.  If the server does not
 * go on (restart_after_crash), nobody else knows how they died.
 */
static void
note_before_exit(int code, Datum arg)
{
	if (plh_child_deaths_has_cause())
		(void) plh_errors_catch(note_deaths, NULL,
								"could not note how processes died that did not exit cleanly");
}

/*
 * shmem_startup_hook: the server calls it when it starts, and again when it goes on after a crash,
 * when the postmaster is the only process left.
 */
static void
sweep_at_startup(void)
{
	if (prev_shmem_startup_hook != NULL)
		prev_shmem_startup_hook();
	if (IsUnderPostmaster)
		return;
	(void) plh_errors_catch(sweep_directory, NULL,
							"could not look for profiles of processes that did not exit cleanly");

	/* the server forgets callbacks when it goes on; children do at once */
	before_shmem_exit(note_before_exit, 0);
}

/*
 * Sweep whenever the server starts, or goes on after a crash, from now on.
 */
void
plh_sweep_start(void)
{
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = sweep_at_startup;
	plh_child_deaths_start();
}
