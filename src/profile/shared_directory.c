/*
 * shared_directory.c
 *	  Where the processes of a server meet, and how much of a file system their files may take.
 *
 * This code runs inside palloc, as a directory that vanishes while the server runs is made again by
 * whoever misses it first.
 *
 * The file system is asked before each file and each growth of one.  Processes that ask at the same
 * moment may all be told that there is room, and so take a little more than the share; the bytes
 * that are left free allow for that.
 */

#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/string.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"

#include "base/directory_names.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/shared_directory.h"

/* The file there that says whose directory it is. */
#define NOTE_FILE "README"

/* The files take at most 1 / SHARE of the file system, and leave that much. */
#define SHARE 4
#define LEFT_FREE ((uint64) 16 * 1024 * 1024)

/* Of both, records leave this much to the headers of other processes. */
#define SHARE_FOR_HEADERS 8		/* an eighth of the share */
#define LEFT_FOR_HEADERS ((uint64) 4 * 1024 * 1024)

/* Room for the text, with the longest path of a data directory. */
#define NOTE_BYTES (MAXPGPATH + 1024)

static void
note_path(char *path, Size room, const char *directory)
{
	snprintf(path, room, "%s/" NOTE_FILE, directory);
}

static int
compose(char *text, Size room)
{
	int			pid = IsUnderPostmaster ? PostmasterPid : (int) getpid();
	char		pid_namespace[64];
	int			length;

	/* containers that share /dev/shm may have a namespace of pids each */
	length = readlink("/proc/self/ns/pid", pid_namespace, sizeof(pid_namespace) - 1);
	pid_namespace[Max(length, 0)] = '\0';
	length = snprintf(text, room,
					  "The processes of a PostgreSQL server keep their profiles here, for the extension\n"
					  "pg_leakhunt, which hunts memory leaks.  Once the server has stopped for good,\n"
					  "this directory may be removed; pg_leakhunt_remove does that.\n"
					  "\n"
					  "data_directory: %s\n"
					  "port: %d\n"
					  "postmaster: %d\n"
					  "postmaster_start: %llu\n"
					  "pid_namespace: %s\n",
					  DataDir, PostPortNumber, pid,
					  (unsigned long long) plh_process_facts_start_ticks(pid),
					  pid_namespace);
	return Min(length, (int) room - 1);
}

void
plh_shared_directory_note(const char *directory)
{
	char		path[PLH_PATH_MAX];
	char		text[NOTE_BYTES];
	int			saved_errno = errno;
	int			fd;

	note_path(path, sizeof(path), directory);
	(void) unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd >= 0)
	{
		if (!plh_whole_io_write(fd, text, compose(text, sizeof(text)), PLH_FILE_POSITION))
			(void) unlink(path);
		close(fd);
	}
	errno = saved_errno;
}

/* PlhNameVisitor: count the names of other files. */
static void
count_others(const char *name, void *arg)
{
	int		   *others = arg;

	*others += strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, NOTE_FILE) != 0;
}

void
plh_shared_directory_remove_note(const char *directory)
{
	char		path[PLH_PATH_MAX];
	int			others = 0;

	if (plh_directory_names_visit(directory, count_others, &others) != 0 || others > 0)
		return;
	note_path(path, sizeof(path), directory);
	(void) unlink(path);
}

/* Is there such a directory, ours alone?  If not, errno is set. */
PlhDirectoryFault
plh_shared_directory_check(const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return PLH_DIRECTORY_NOT_MADE;
	errno = EACCES;
	if (!S_ISDIR(status.st_mode))
		return PLH_DIRECTORY_NO_DIRECTORY;
	if (status.st_uid != geteuid())
		return PLH_DIRECTORY_FOREIGN;
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return PLH_DIRECTORY_OPEN;
	return PLH_DIRECTORY_FINE;
}

/* Make the directory unless it exists.  If it is not ours alone, errno is set. */
PlhDirectoryFault
plh_shared_directory_make(const char *path)
{
	PlhDirectoryFault fault = plh_shared_directory_check(path);

	if (fault != PLH_DIRECTORY_NOT_MADE || errno != ENOENT)
		return fault;
	if (mkdir(path, S_IRWXU) == 0)
		plh_shared_directory_note(path);
	else if (errno != EEXIST)
		return PLH_DIRECTORY_NOT_MADE;
	return plh_shared_directory_check(path);
}

/* Is a name that of a dead process' profile that was saved as a dump? */
static bool
is_saved(const char *name)
{
	return name[0] >= '1' && name[0] <= '9' && pg_str_endswith(name, PLH_SAVED_SUFFIX);
}

typedef struct DirectoryFiles
{
	const char *directory;
	uint64		bytes;
} DirectoryFiles;

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
plh_shared_directory_has_room(const char *directory, Size bytes, PlhRoomUse use)
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
