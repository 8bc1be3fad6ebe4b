/*
 * sweep.c
 *	  Bounds what a crash has left in the directory of the profiles.
 *
 * A crash leaves a profile of every backend, in memory.  The postmaster removes
 * those that are too many before it goes on: it reads headers only, and makes
 * no dumps (crash_dumps.h).  Nothing here may stop a server from starting.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "process/crashed_profiles.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "process/sweep.h"

static shmem_startup_hook_type prev_shmem_startup_hook;

static void
sweep_directory(void *arg)
{
	const char *directory = plh_profile_directory_path();

	(void) plh_crashed_profiles_bound(directory,
									  plh_crashed_profiles_list(directory));
	plh_crashed_profiles_remove_unpublished(directory);
}

/*
 * shmem_startup_hook: the server calls it when it starts, and again when it
 * goes on after a crash, when the postmaster is the only process left.
 */
static void
sweep_at_startup(void)
{
	if (prev_shmem_startup_hook != NULL)
		prev_shmem_startup_hook();
	if (!IsUnderPostmaster)
		(void) plh_errors_catch(sweep_directory, NULL,
								"could not look for profiles of processes that did not exit cleanly");
}

/*
 * Sweep whenever the server starts, or goes on after a crash, from now on.
 */
void
plh_sweep_start(void)
{
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = sweep_at_startup;
}
