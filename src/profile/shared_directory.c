/*
 * shared_directory.c
 *	  The directory in which the processes of a server meet: it has profiles, baselines and
 *	  requests.
 *
 * This code runs inside palloc, as a directory that vanishes while the server runs is made again by
 * whoever misses it first.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/postmaster.h"

#include "base/directory_names.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/shared_directory.h"

/* The file there that says whose directory it is. */
#define NOTE_FILE "README"

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

/* Write the note, instead of one of a former server. */
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

/* Remove the note if there is nothing else in the directory. */
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

/*
 * Make the directory unless it exists, and make sure that it is ours alone.  If it is not, errno is
 * set.
 */
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
