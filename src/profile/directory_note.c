/*
 * directory_note.c
 *	  A file in the directory of the profiles that says whose directory it is.
 *
 * This code runs inside palloc, as it is there that a directory which vanished is
 * made again.
 */
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/postmaster.h"

#include "base/directory_names.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/directory_note.h"

#define NOTE_FILE "README"

/* Room for the text, with the longest path of a data directory. */
#define NOTE_BYTES (MAXPGPATH + 1024)

static void
note_path(char *path, Size room, const char *directory)
{
	snprintf(path, room, "%s/" NOTE_FILE, directory);
}

/*
 * Name the namespace that pids are numbers of, as the kernel does: containers
 * that share /dev/shm may have another each.
 */
static void
name_pid_namespace(char *name, Size room)
{
	ssize_t		length = readlink("/proc/self/ns/pid", name, room - 1);

	name[Max(length, 0)] = '\0';
}

/* Write the text.  Returns its length. */
static int
compose(char *text, Size room)
{
	char		pid_namespace[64];
	int			pid = IsUnderPostmaster ? PostmasterPid : (int) getpid();
	int			length;

	name_pid_namespace(pid_namespace, sizeof(pid_namespace));
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

/*
 * Write the note, instead of one of a former server.
 */
void
plh_directory_note_write(const char *directory)
{
	char		path[PLH_PATH_MAX];
	char		text[NOTE_BYTES];
	int			saved_errno = errno;
	int			fd;

	note_path(path, sizeof(path), directory);
	(void) unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  S_IRUSR | S_IWUSR);
	if (fd >= 0)
	{
		if (!plh_whole_io_write(fd, text, compose(text, sizeof(text)),
								PLH_FILE_POSITION))
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

	*others += strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		strcmp(name, NOTE_FILE) != 0;
}

/*
 * Remove the note if there is nothing else in the directory.
 */
void
plh_directory_note_remove(const char *directory)
{
	char		path[PLH_PATH_MAX];
	int			others = 0;

	if (plh_directory_names_visit(directory, count_others, &others) != 0 ||
		others > 0)
		return;
	note_path(path, sizeof(path), directory);
	(void) unlink(path);
}
