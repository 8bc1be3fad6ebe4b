/*
 * publication.c
 *	  When the profile of this process gets its file, for other processes to read.
 *
 * This code runs inside palloc.
 *
 * A process gets no file before it has kept enough samples to be of interest, or has become large
 * without them: most connections end before.
 */
#include "postgres.h"

#include <errno.h>

#include "miscadmin.h"
#include "port/atomics.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "profile/profile_file.h"
#include "profile/shared_directory.h"
#include "sampler/control_file.h"
#include "sampler/owner.h"
#include "sampler/publication.h"

/* A process of this size has a profile, through one huge query or a library's malloc. */
#define LARGE_BYTES ((int64) 16 * 1024 * 1024)

/*
 * Without room for all of the profile, publishing is tried again after this time.  Where the start
 * of the process could not be read, nothing but a read is tried again, and so sooner.
 */
#define ROOM_RETRY_US ((int64) 5 * 1000 * 1000)
#define START_RETRY_US ((int64) 50 * 1000)

/* Profiles are published here; the caller of plh_publication_start owns the path. */
static PLH_SET_AT_LOAD const char *profile_directory;

/* Times by the coarse monotonic clock. */
static struct
{
	int64		retry_us;		/* 0: publishing has not failed */
	int64		sized_us;		/* when it asked for its size, or was forked */
}			state;

void
plh_publication_start(const char *directory)
{
	profile_directory = directory;
}

/* Without the start of the process, its profile could be that of a later one with its pid. */
static bool
knows_start(PlhProfileHeader *header)
{
	if (header->process_start == 0 || header->process_start == PLH_TICKS_UNKNOWN)
		header->process_start = plh_process_facts_start_ticks(header->pid);
	return header->process_start != PLH_TICKS_UNKNOWN;
}

/* Note with which errno this process has failed to show its profile; 0: it has not. */
static void
note_failure(int error)
{
	PlhControlFailure *failure;

	if (plh_control_file == NULL)
		return;
	failure = &plh_control_file->failures[plh_profile->pid % PLH_CONTROL_FAILURES];
	if (error == 0 && failure->pid != plh_profile->pid)
		return;
	failure->pid = 0;
	pg_write_barrier();
	failure->error = error;
	failure->process_start = plh_profile->process_start;
	pg_write_barrier();
	if (error != 0)
		failure->pid = plh_profile->pid;
}

/* The errno of a failure of that pid, if the process lives; otherwise 0. */
static int
error_of(const PlhControlFailure *failure, int pid)
{
	int			error = failure->error;

	return pid > 0 && failure->pid == pid &&
		failure->process_start == plh_process_facts_start_ticks(pid) ? error : 0;
}

int
plh_publication_failure_of(int pid)
{
	return plh_control_file == NULL || pid <= 0 ? 0 :
		error_of(&plh_control_file->failures[pid % PLH_CONTROL_FAILURES], pid);
}

int
plh_publication_any_failure(int *pid)
{
	int			error = 0;

	for (int i = 0; plh_control_file != NULL && error == 0 && i < PLH_CONTROL_FAILURES; i++)
	{
		*pid = plh_control_file->failures[i].pid;
		error = error_of(&plh_control_file->failures[i], *pid);
	}
	return error;
}

static bool
publish(void)
{
	bool		published;

	errno = 0;
	published = plh_shared_directory_make(profile_directory) == PLH_DIRECTORY_FINE &&
		plh_profile_file_publish(profile_directory);
	note_failure(published ? 0 : errno);
	return published;
}

/*
 * Make the profile visible to other processes, if there is one, as far as there is room for it.
 * The directory may have been removed: then it is made again.  Meanwhile anybody may have made one
 * of that name, which is not used.
 */
void
plh_publication_publish(void)
{
	int64		pause_us = 0;
	bool		was_held;

	Assert(CritSectionCount == 0);
	if (plh_profile == NULL || (plh_profile_file_verify() && plh_profile_file_is_whole()))
		return;

	was_held = plh_guard_take();
	plh_owner_identify();
	plh_profile->profile_bytes = plh_profile_file_bytes();
	if (!knows_start(plh_profile))
		pause_us = START_RETRY_US;
	else if (!publish())
		pause_us = ROOM_RETRY_US;
	state.retry_us = pause_us == 0 ? 0 : plh_clock_us(CLOCK_MONOTONIC_COARSE) + pause_us;
	plh_guard_restore(was_held);
}

void
plh_publication_begin(void)
{
	if (plh_profile != NULL || plh_owner_begin_profile())
		plh_publication_publish();
}

static bool
has_kept_enough(void)
{
	return plh_profile != NULL &&
		(plh_profile->counters.total_samples >= PLH_PUBLICATION_SAMPLES ||
		 plh_profile->counters.live_bytes >= PLH_PUBLICATION_BYTES);
}

/* Is this process so large that it should have a profile?  Asked again within "gap_us": no. */
static bool
is_large(int64 now_us, int64 gap_us)
{
	if (plh_owner_interval == 0 || now_us < state.sized_us + gap_us)
		return false;
	state.sized_us = now_us;
	return plh_process_facts_owns(LARGE_BYTES);
}

/* Publish what others do not see yet and should, unless that has just failed. */
PLH_EVERY_PROCESS void
plh_publication_if_due(int64 gap_us)
{
	int64		now_us;

	if (plh_profile_file_is_whole())
		return;
	now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	if (now_us < state.retry_us)
		return;
	if (plh_profile_file_is_published() || has_kept_enough())
		plh_publication_publish();
	else if (is_large(now_us, gap_us))
		plh_publication_begin();
}

PLH_EVERY_PROCESS void
plh_publication_forget(void)
{
	memset(&state, 0, sizeof(state));
	state.sized_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
}
