/*
 * crashed_profiles.c
 *	  The profiles of processes that did not exit cleanly: their files, and how many of them stay.
 *
 * Profiles lie in memory, so that what a crash leaves there is bounded by number and by bytes.
 * Only the headers are read here: of any number of profiles that takes milliseconds.
 *
 * That nobody needs a profile any more is a part of its file's name, as a rename is atomic, and
 * outlives the process that does it.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "base/size_units.h"
#include "crash/crashed_profiles.h"
#include "profile/baseline.h"
#include "profile/proof_name.h"
#include "profile/profile_image.h"
#include "profile/shared_directory.h"
#include "reader/profile_reader.h"

/* How many of the profiles that are no longer needed stay to be looked at. */
#define KEPT_SAVED 16

/* All of them take at most this part of their file system. */
#define FILE_SYSTEM_PART 8

/* The kernel gives files times of a clock that may be this far behind. */
#define FILE_CLOCK_LAG_US 10000

/*
 * The postmaster removes files up to these bytes, so that the others find room at once.  It renames
 * the rest, for the keeper: the kernel takes a second for some gigabytes of memory, and much longer
 * on a busy machine.
 */
#define REMOVED_BYTES ((int64) 128 * 1024 * 1024)

/* Names to try for a file that is renamed. */
#define MAX_ATTEMPTS 100

/* Parse "PID", "PID.SECONDS" or "PID.SECONDS.saved". */
static bool
parse_name(const char *name, int *pid, bool *given_up)
{
	Size		digits = strspn(name, "0123456789");
	const char *rest = name + digits;

	*pid = atoi(name);
	*given_up = false;
	if (*pid <= 0 || *rest == '\0')
		return *pid > 0;
	digits = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
	rest += 1 + digits;
	*given_up = digits > 0 && strcmp(rest, PLH_SAVED_SUFFIX) == 0;
	return digits > 0 && (*rest == '\0' || *given_up);
}

/* Is a process of that pid running, be it another one than the owner? */
static bool
is_running(int pid)
{
	return plh_process_facts_start_ticks(pid) != 0;
}

/*
 * Remove a file that has the name of a profile and is none.  While a process with its pid runs, it
 * may be the profile of a session that has loaded another version.  That of another cluster stays:
 * its process may live where pids are others.
 */
static void
remove_damaged(const char *path, int pid)
{
	struct stat status;

	if (is_running(pid) || lstat(path, &status) != 0 ||
		!S_ISREG(status.st_mode) || plh_profile_reader_is_foreign(path) ||
		unlink(path) != 0)
		return;
	ereport(WARNING, (errmsg("removed file \"%s\" from the profile directory",
							 last_dir_separator(path) + 1),
					  errdetail("It is not a profile of this version of pg_leakhunt, and no process has its pid.")));
}

/*
 * Is a process that did not exit cleanly worth a dump, by the settings of this one?  One that exits
 * knows more of itself (process/exit_dump.c).
 *
 * What a process held when it last counted may be nothing that stays at an exit, such as a query's
 * memory: so it must be as much as a peak.  What a crash began with is always of interest.
 */
static bool
is_worth_dump(const PlhProfileHeader *header)
{
	return plh_death_has_cause(&header->death) ||
		plh_profile_image_surely_live_bytes(header) >= plh_dump_min_bytes ||
		plh_profile_image_peak_bytes(header) >= plh_dump_min_peak ||
		plh_profile_image_counted_bytes(header) >= plh_dump_min_peak;
}

/*
 * Look at the profile "path" and fill in what its header and the file say.  Returns false if its
 * owner is alive, or if it is no profile.
 */
static bool
look_at(PlhCrashedProfile *profile)
{
	bool		refused;
	struct stat status;
	const PlhProfileImage *image = plh_profile_reader_open(profile->path, true, &refused);

	if (refused)
		remove_damaged(profile->path, profile->pid);
	if (image == NULL || image->alive || lstat(profile->path, &status) != 0)
		return false;
	profile->pid = image->header->pid;
	profile->process_start = image->header->process_start;
	profile->started_at = image->header->started_at;
	profile->died_at = image->header->death.at;
	profile->has_cause = plh_death_has_cause(&image->header->death);
	profile->held_bytes =
		Max(plh_profile_image_surely_live_bytes(image->header),
			plh_profile_image_counted_bytes(image->header));
	profile->worth_dump = !profile->given_up && is_worth_dump(image->header);
	profile->file_bytes = (int64) status.st_blocks * 512;
	profile->inode = status.st_ino;
	profile->changed_at = (int64) status.st_ctim.tv_sec * USECS_PER_SEC +
		status.st_ctim.tv_nsec / 1000 - PLH_UNIX_EPOCH_US;
	return true;
}

/* list_sort's comparator; see plh_crashed_profiles_list. */
static int
compare_worth(const ListCell *left, const ListCell *right)
{
	const PlhCrashedProfile *a = lfirst(left);
	const PlhCrashedProfile *b = lfirst(right);

	if (a->worth_dump != b->worth_dump)
		return a->worth_dump ? -1 : 1;
	if (a->has_cause != b->has_cause)
		return a->has_cause ? -1 : 1;
	return a->held_bytes > b->held_bytes ? -1 : a->held_bytes < b->held_bytes;
}

List *
plh_crashed_profiles_list(const char *directory)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext,
													   "pg_leakhunt profile header",
													   ALLOCSET_DEFAULT_SIZES);
	List	   *profiles = NIL;
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;

	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		PlhCrashedProfile profile = {0};

		if (!parse_name(entry->d_name, &profile.pid, &profile.given_up))
			continue;
		snprintf(profile.path, sizeof(profile.path), "%s/%s", directory, entry->d_name);
		MemoryContextSwitchTo(file_context);
		if (look_at(&profile))
		{
			PlhCrashedProfile *copy = MemoryContextAlloc(caller_context, sizeof(profile));

			*copy = profile;
			MemoryContextSwitchTo(caller_context);
			profiles = lappend(profiles, copy);
		}
		MemoryContextReset(file_context);
	}
	FreeDir(dir);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(file_context);
	list_sort(profiles, compare_worth);
	return profiles;
}

/* How many bytes may stay in the directory?  Without an answer, none. */
static int64
most_bytes(const char *directory)
{
	struct statvfs status;

	if (statvfs(directory, &status) != 0)
		return 0;
	if (status.f_blocks == 0)
		return PG_INT64_MAX;	/* it has no limit */
	return (int64) status.f_blocks * status.f_frsize / FILE_SYSTEM_PART;
}

/*
 * Is this profile, which nobody needs, one of a former server?  PgStartTime is
 * 0 while the postmaster starts: then all are.  The keeper may give up a profile within
 * the first milliseconds of its server.
 */
static bool
is_of_former_server(const PlhCrashedProfile *profile)
{
	return PgStartTime == 0 || profile->changed_at < PgStartTime - FILE_CLOCK_LAG_US;
}

/* What lies beside a profile: its baseline, and the last proof. */
static void
remove_files_beside(const char *directory, int pid)
{
	plh_baseline_unlink(directory, pid);
	plh_proof_name_unlink(directory, pid);
}

/*
 * Remove a profile; in the postmaster, leave it to others if it has removed enough already.  What
 * lies beside it goes with it, unless a new process has its pid.
 */
static void
remove_profile(const char *directory, const PlhCrashedProfile *profile)
{
	static int64 removed_bytes;
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s/" PLH_DROPPED_PREFIX "%s", directory,
			 last_dir_separator(profile->path) + 1);
	if (IsUnderPostmaster || (removed_bytes += profile->file_bytes) <= REMOVED_BYTES ||
		rename(profile->path, path) != 0)
		(void) unlink(profile->path);
	if (!is_running(profile->pid))
		remove_files_beside(directory, profile->pid);
}

/*
 * Remove those of the listed profiles that are too many or too large: at most dump_keep wait for
 * their dumps, as no more dumps stay, at most KEPT_SAVED of this server's stay without a need, and
 * all take at most a part of the file system.
 */
List *
plh_crashed_profiles_bound(const char *directory, List *profiles)
{
	List	   *kept = NIL;
	int64		room = most_bytes(directory);
	int			waiting = 0;
	int			saved = 0;
	int			lost = 0;
	int64		lost_bytes = 0;
	ListCell   *cell;

	foreach(cell, profiles)
	{
		PlhCrashedProfile *profile = lfirst(cell);
		bool		fits = profile->file_bytes <= room &&
			(profile->worth_dump ? waiting < plh_dump_keep :
			 saved < KEPT_SAVED && !is_of_former_server(profile));

		if (fits)
		{
			room -= profile->file_bytes;
			waiting += profile->worth_dump;
			saved += !profile->worth_dump;
			kept = lappend(kept, profile);
			continue;
		}
		remove_profile(directory, profile);
		lost += profile->worth_dump;
		lost_bytes += profile->worth_dump ? profile->file_bytes : 0;
	}
	if (lost > 0)
		ereport(LOG,
				(errmsg_plural("removed %d profile (%s) of a process that did not exit cleanly, without a dump file of it",
							   "removed %d profiles (%s) of processes that did not exit cleanly, without dump files of them",
							   lost, lost, plh_size_units(lost_bytes).text),
				 errdetail("The %d that held most stay: at most pg_leakhunt.dump_keep (%d) of them, in at most 1/%d of the file system of \"%s\".",
						   waiting, plh_dump_keep, FILE_SYSTEM_PART, directory)));
	return kept;
}

/*
 * Give up a profile, by another name.  No file of that name is replaced, as several processes may
 * have died with one pid.  Where that fails, the profile stays as it is, and is looked at again.
 */
void
plh_crashed_profiles_give_up(const char *directory, PlhCrashedProfile *profile)
{
	char		path[PLH_PATH_MAX];
	struct stat status;
	time_t		seconds = time(NULL);

	/* a new process with that pid may have put its own profile there */
	if (lstat(profile->path, &status) != 0 || status.st_ino != profile->inode)
		return;
	for (int i = 0; i < MAX_ATTEMPTS; i++)
	{
		snprintf(path, sizeof(path), "%s/%d.%lld%s", directory, profile->pid,
				 (long long) seconds + i, PLH_SAVED_SUFFIX);
		if (lstat(path, &status) == 0)
			continue;
		if (rename(profile->path, path) != 0)
			break;
		strlcpy(profile->path, path, sizeof(profile->path));
		profile->given_up = true;
		break;
	}
}

/*
 * Returns the pid of the process that was writing the file, "tmp.PID" of a profile or
 * "tmp.baseline.PID"; 0 if the name is another.
 */
static int
writer_of(const char *name)
{
	const char *start = "tmp.";
	const char *middle = "baseline.";

	if (strncmp(name, start, strlen(start)) != 0)
		return 0;
	name += strlen(start);
	if (strncmp(name, middle, strlen(middle)) == 0)
		name += strlen(middle);
	return atoi(name);
}

void
plh_crashed_profiles_remove_unpublished(const char *directory)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	char		path[PLH_PATH_MAX];

	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		int			pid = writer_of(entry->d_name);
		bool		is_dropped = IsUnderPostmaster &&
			strncmp(entry->d_name, PLH_DROPPED_PREFIX, strlen(PLH_DROPPED_PREFIX)) == 0;

		if (!is_dropped && (pid <= 0 || is_running(pid)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!plh_profile_reader_is_foreign(path))
			(void) unlink(path);
	}
	FreeDir(dir);
}

static bool
is_listed(const List *profiles, int pid)
{
	ListCell   *cell;

	foreach(cell, profiles)
		if (((const PlhCrashedProfile *) lfirst(cell))->pid == pid)
		return true;
	return false;
}

void
plh_crashed_profiles_remove_baselines(const char *directory, const List *profiles)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	char		path[PLH_PATH_MAX];

	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		int			pid = Max(plh_baseline_pid(entry->d_name), plh_proof_name_pid(entry->d_name));

		snprintf(path, sizeof(path), "%s/%d", directory, pid);
		if (pid > 0 && !is_running(pid) && !is_listed(profiles, pid) &&
			!plh_profile_reader_is_foreign(path))
			remove_files_beside(directory, pid);
	}
	FreeDir(dir);
}
