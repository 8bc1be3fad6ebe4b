/*
 * crashed_profiles.h
 *	  The profiles of processes that did not exit cleanly: their files, and how many of them stay.
 *
 * A file is called PID while its process runs; PID.SECONDS later, where a new process has its pid;
 * and PID.SECONDS.saved once nobody needs it.  All these functions may throw, and WARN of what they
 * can't do.  Only the holder of the lock of crash_dumps.h, or the postmaster while it is the only
 * process, may call those that change files.
 */
#pragma once

#include <sys/types.h>

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "base/limits.h"

typedef struct PlhCrashedProfile
{
	char		path[PLH_PATH_MAX];
	int			pid;
	bool		given_up;		/* nobody needs it any more */
	bool		worth_dump;		/* a dump is to be made */
	bool		has_cause;		/* it did not only die with another one */
	double		held_bytes;		/* at least, or when it last counted */
	uint64		process_start;	/* as in PlhProfileHeader, as are these: */
	TimestampTz started_at;
	TimestampTz died_at;
	int64		file_bytes;
	ino_t		inode;
	TimestampTz changed_at;		/* when it was last written or renamed */
} PlhCrashedProfile;

/*
 * The profiles whose owners are gone, as a list of PlhCrashedProfile in the current memory context.
 * Files that have the name of one and are none are removed.  First those that are worth a dump, of
 * these first those of processes that crashed by themselves, then the rest; each part with the one
 * first that held most.
 */
extern List *plh_crashed_profiles_list(const char *directory);

/* Returns the list without those that it has removed. */
extern List *plh_crashed_profiles_bound(const char *directory, List *profiles);

/* From now on any process that is short of room may remove the file. */
extern void plh_crashed_profiles_give_up(const char *directory, PlhCrashedProfile *profile);

/*
 * Remove the files that processes were writing when they died, or that the postmaster has left to
 * others; and the baselines of processes that are gone, but not of listed or foreign profiles.
 */
extern void plh_crashed_profiles_remove_unpublished(const char *directory);
extern void plh_crashed_profiles_remove_baselines(const char *directory, const List *profiles);
