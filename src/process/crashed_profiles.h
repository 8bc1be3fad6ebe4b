/*
 * crashed_profiles.h
 *	  The profiles of processes that did not exit cleanly: their files, and how
 *	  many of them stay.
 *
 * A file is called PID while its process runs; PID.SECONDS or PID.SECONDS.STATE
 * later.  All these functions may throw, and WARN of what they can't do.  Only
 * the holder of the lock of crash_dumps.h, or the postmaster while it is the
 * only process, may call those that change files.
 */
#ifndef PLH_CRASHED_PROFILES_H
#define PLH_CRASHED_PROFILES_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "base/limits.h"

/* The states of a profile; all but the first are in the name of its file. */
typedef enum PlhCrashedState
{
	PLH_CRASHED_NEW,			/* no dump was made yet */
	PLH_CRASHED_TRIED,			/* a dump is being made, for the first time, */
	PLH_CRASHED_RETRIED,		/* or for the second */
	PLH_CRASHED_FAILED,			/* the dump could not be written */
	PLH_CRASHED_SAVED			/* nobody needs the profile any more */
} PlhCrashedState;

typedef struct PlhCrashedProfile
{
	char		path[PLH_PATH_MAX];
	int			pid;
	PlhCrashedState state;
	bool		worth_dump;		/* a dump is to be made */
	bool		has_cause;		/* it did not only die with another one */
	double		held_bytes;		/* at least, or when it last counted */
	uint64		process_start;	/* as in PlhProfileHeader, as are these: */
	TimestampTz started_at;
	TimestampTz died_at;
	int64		file_bytes;
	TimestampTz renamed_at;		/* when it got its state, or was last written */
} PlhCrashedProfile;

/*
 * A list of PlhCrashedProfile in the current memory context: first those of
 * processes that crashed by themselves, then others that are worth a dump, then
 * the rest; each part with the one first that held most.
 */
extern List *plh_crashed_profiles_list(const char *directory);

/* Returns the list without those that it has removed. */
extern List *plh_crashed_profiles_bound(const char *directory, List *profiles);

/* Returns false, and leaves the file as it is, if that fails. */
extern bool plh_crashed_profiles_rename(const char *directory,
										PlhCrashedProfile *profile,
										PlhCrashedState state);

extern void plh_crashed_profiles_remove(const char *directory,
										const PlhCrashedProfile *profile);
extern void plh_crashed_profiles_remove_unpublished(const char *directory);
extern void plh_crashed_profiles_remove_baselines(const char *directory,
												  const List *profiles);

#endif							/* PLH_CRASHED_PROFILES_H */
