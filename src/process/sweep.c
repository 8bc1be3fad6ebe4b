/*
 * sweep.c
 *	  Turns the profiles of processes that did not exit cleanly into dumps.
 *
 * A crash leaves a profile of every backend, which users can look at in state
 * "crashed".  But profiles lie in memory.  So when the server goes on after a
 * crash, the postmaster keeps only the profiles with the most live bytes, and
 * when the server starts it keeps none.  The others become dumps, or are
 * removed if they hold too little.  Nothing here may stop a server from
 * starting.
 */
#include "postgres.h"

#include <dirent.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/dump_directory.h"
#include "process/dump_report.h"
#include "process/profile_directory.h"
#include "process/sweep.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"

/* Number of profiles that are kept when the server goes on after a crash. */
#define KEPT_PROFILES 16

static shmem_startup_hook_type prev_shmem_startup_hook;

/* The profiles to keep, the most live bytes first; the last place is spare. */
typedef struct KeptProfiles
{
	int			count;
	double		live_bytes[KEPT_PROFILES + 1];
	char		paths[KEPT_PROFILES + 1][PLH_PATH_MAX];
} KeptProfiles;

/*
 * PlhProfileVisitor: enter a crashed profile into the ranking.  If the ranking
 * is full, the profile with the fewest bytes ends up in the spare place.
 */
static void
rank_profile(PlhProfileImage *image, void *arg)
{
	KeptProfiles *kept = arg;
	double		live_bytes = plh_profile_image_surely_live_bytes(image->header);
	int			place = kept->count;

	Assert(kept->count <= KEPT_PROFILES);
	if (image->alive)
		return;
	while (place > 0 && kept->live_bytes[place - 1] < live_bytes)
	{
		kept->live_bytes[place] = kept->live_bytes[place - 1];
		memcpy(kept->paths[place], kept->paths[place - 1], PLH_PATH_MAX);
		place--;
	}
	kept->live_bytes[place] = live_bytes;
	strlcpy(kept->paths[place], image->path, PLH_PATH_MAX);
	kept->count = Min(kept->count + 1, KEPT_PROFILES);
}

/*
 * PlhProfileVisitor: turn a crashed profile into a dump, and remove it, unless
 * it is to be kept.
 */
static void
sweep_profile(PlhProfileImage *image, void *arg)
{
	const PlhDumpExtras extras = {
		.reason = "crash",
		.baseline = plh_baseline_file_read(plh_profile_directory_path(),
										   image->header)
	};
	const KeptProfiles *kept = arg;
	PlhDumpResult result;

	if (image->alive)
		return;
	for (int i = 0; i < kept->count; i++)
	{
		if (strcmp(kept->paths[i], image->path) == 0)
			return;
	}

	if (plh_profile_image_surely_live_bytes(image->header) >= plh_dump_min_bytes)
	{
		/* if this fails, the profile stays, and the next start tries again */
		bool		written = plh_dump_write(image, &extras, true, &result);

		plh_dump_report(&result, WARNING);
		if (!written)
			return;
		ereport(LOG,
				(errmsg("profile of process %d, which did not exit cleanly, saved as \"%s\"",
						image->header->pid, result.path)));
	}
	(void) unlink(image->path);
	plh_baseline_unlink(plh_profile_directory_path(), image->header->pid);
}

/* Is this the name of a profile or baseline that was not complete yet? */
static bool
is_unpublished(const char *name)
{
	return strncmp(name, "tmp.", strlen("tmp.")) == 0;
}

/* Is this the name of a baseline? */
static bool
is_baseline(const char *name)
{
	return strncmp(name, "baseline.", strlen("baseline.")) == 0;
}

/*
 * Remove the files in a directory whose names match.  Plain opendir, as a
 * directory that is missing or not readable must not throw.
 */
static void
remove_files(const char *directory, bool (*matches) (const char *name))
{
	DIR		   *dir = opendir(directory);
	struct dirent *entry;
	char		path[PLH_PATH_MAX];

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		if (!matches(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		(void) unlink(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Sweep the directory; keep the profiles that hold most, or none. */
static void
sweep_directory(bool keep_largest)
{
	const char *directory = plh_profile_directory_path();
	KeptProfiles *kept = palloc0(sizeof(KeptProfiles));

	if (keep_largest)
		plh_profile_reader_each(directory, 0, true, rank_profile, kept);
	plh_profile_reader_each(directory, 0, false, sweep_profile, kept);

	/* owners that died while they wrote have left incomplete files */
	remove_files(directory, is_unpublished);
	remove_files(plh_fixed.dump_directory, plh_dump_directory_is_temporary);
	if (!keep_largest)
		remove_files(directory, is_baseline);
}

/*
 * Run sweep_directory in a memory context of its own; an ERROR becomes a
 * WARNING.
 */
static void
sweep_safely(bool keep_largest)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext sweep_context = AllocSetContextCreate(CurrentMemoryContext,
														"pg_leakhunt sweep",
														ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(sweep_context);
	PG_TRY();
	{
		sweep_directory(keep_largest);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(sweep_context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(WARNING,
				(errmsg("could not save the profiles of processes that did not exit cleanly"),
				 errdetail_internal("%s", error->message)));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(sweep_context);
}

/*
 * shmem_startup_hook: the server calls it when it starts, and again when it
 * goes on after a crash, when the postmaster is the only process left.
 */
static void
sweep_at_startup(void)
{
	static bool started = false;

	if (prev_shmem_startup_hook != NULL)
		prev_shmem_startup_hook();
	if (IsUnderPostmaster)
		return;
	sweep_safely(started);
	started = true;
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
