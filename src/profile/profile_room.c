/*
 * profile_room.c
 *	  How much of a file system the profiles of a server may take.
 *
 * This code runs inside palloc.
 *
 * The file system is asked before each file and each growth of one.  Processes that ask at the same
 * moment may all be told that there is room, and so take a little more than the share; the bytes
 * that are left free allow for that.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/directory_names.h"
#include "base/limits.h"
#include "profile/profile_room.h"

/* The files take at most 1 / SHARE of the file system, and leave that much. */
#define SHARE 4
#define LEFT_FREE ((uint64) 16 * 1024 * 1024)

/* Of both, records leave this much to the headers of other processes. */
#define SHARE_FOR_HEADERS 8		/* an eighth of the share */
#define LEFT_FOR_HEADERS ((uint64) 4 * 1024 * 1024)

typedef struct DirectoryFiles
{
	const char *directory;
	uint64		bytes;
} DirectoryFiles;

/* Is a name that of a dead process' profile that was saved as a dump? */
static bool
is_saved(const char *name)
{
	Size		length = strlen(name);
	Size		suffix = strlen(PLH_SAVED_SUFFIX);

	return length > suffix && name[0] >= '1' && name[0] <= '9' &&
		strcmp(name + length - suffix, PLH_SAVED_SUFFIX) == 0;
}

/* PlhNameVisitor: add what a file takes of the file system. */
static void
add_file(const char *name, void *arg)
{
	DirectoryFiles *files = arg;
	char		path[PLH_PATH_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", files->directory, name);
	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
		files->bytes += (uint64) status.st_blocks * 512;
}

static uint64
bytes_of_files(const char *directory)
{
	DirectoryFiles files = {directory, 0};

	(void) plh_directory_names_visit(directory, add_file, &files);
	return files.bytes;
}

/* PlhNameVisitor: remove a profile that was saved or dropped. */
static void
give_up_saved(const char *name, void *arg)
{
	const char *directory = arg;
	char		path[PLH_PATH_MAX];

	if (!is_saved(name) && strncmp(name, PLH_DROPPED_PREFIX, strlen(PLH_DROPPED_PREFIX)) != 0)
		return;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	(void) unlink(path);
}

/* May the files take "bytes" more, with what the file system has free now? */
static bool
fits(const char *directory, uint64 bytes, PlhRoomUse use)
{
	struct statfs status;
	uint64		share;
	uint64		left_free = LEFT_FREE;
	uint64		used;

	if (statfs(directory, &status) != 0)
		return false;

	/* a file system in memory that was mounted without a limit */
	if (status.f_blocks == 0)
		return true;
	share = (uint64) status.f_blocks * status.f_bsize / SHARE;
	if (use == PLH_ROOM_RECORDS)
	{
		share -= share / SHARE_FOR_HEADERS;
		left_free += LEFT_FOR_HEADERS;
	}
	if ((uint64) status.f_bavail * status.f_bsize < bytes + left_free)
		return false;

	/* where all files of everybody take less than our share, so do ours */
	used = (uint64) (status.f_blocks - status.f_bfree) * status.f_bsize;
	return used + bytes <= share || bytes_of_files(directory) + bytes <= share;
}

/*
 * May the files of the directory take that many more bytes?  Profiles that were saved are given up
 * first, as a live process has more to say.  If the answer is no, errno is ENOSPC, or ENOENT if
 * there is no such directory.
 */
bool
plh_profile_room_has(const char *directory, Size bytes, PlhRoomUse use)
{
	int			failure;

	if (fits(directory, bytes, use))
		return true;
	failure = plh_directory_names_visit(directory, give_up_saved, unconstify(char *, directory));
	if (fits(directory, bytes, use))
		return true;
	errno = failure == ENOENT ? ENOENT : ENOSPC;
	return false;
}
