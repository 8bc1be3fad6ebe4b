/*
 * control_file.c
 *	  The file of requests: made, mapped, locked and removed.
 *
 * The postmaster maps the file, and all children inherit the mapping, which survives a removal of
 * the file.  A process that loads pg_leakhunt by itself opens the file by its name, and so does a
 * process that changes it, for the lock.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sealed_file.h"
#include "base/whole_io.h"
#include "profile/shared_directory.h"
#include "sampler/control_file.h"

/*
 * The name contains the version of the layout, and behind that the identifier of the cluster:
 * servers of two may have been given one directory.
 */
#define CONTROL_FILE "control.12"

/*
 * Tries to get the lock, this long apart.  Writers have it for microseconds: a process that has it
 * for longer has been stopped, which may last for hours.
 */
#define LOCK_TRIES 100
#define LOCK_PAUSE_US 20000

PLH_SET_AT_LOAD PlhControlFile *plh_control_file;

static PLH_SET_AT_LOAD const char *control_directory;
static PLH_SET_AT_LOAD PLH_LARGE char control_path[PLH_PATH_MAX];
static PLH_SET_AT_LOAD ino_t control_inode; /* of the file that is mapped */

/* Returns false, with errno set, on failure; EWOULDBLOCK stands for a holder that has stopped. */
bool
plh_control_file_lock(int fd)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++)
	{
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		pg_usleep(LOCK_PAUSE_US);
	}
	errno = EWOULDBLOCK;
	return false;
}

/*
 * Give an empty file its full size.  Returns false, with errno set, on failure, and for a file of
 * another size: a process that maps it could die if it were cut.
 */
static bool
make_full_size(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	if (status.st_size == sizeof(PlhControlFile))
		return true;
	errno = status.st_size != 0 ? EINVAL : posix_fallocate(fd, 0, sizeof(PlhControlFile));
	return errno == 0;
}

/* When the postmaster started, in the clock ticks of PlhControlFile. */
uint64
plh_control_file_server_start(void)
{
	return plh_process_facts_start_ticks(IsUnderPostmaster ? PostmasterPid : getpid());
}

/* A new file is this server's, which removes it when it stops.  Without the note it stays. */
static void
note_server(int fd)
{
	uint64		start = plh_control_file_server_start();

	if (start != PLH_TICKS_UNKNOWN)
		(void) plh_whole_io_write(fd, &start, sizeof(start),
								  offsetof(PlhControlFile, server_start));
}

/* Open the file to write, or create it.  Returns -1, with errno set. */
static int
open_or_create(void)
{
	int			fd = open(control_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
						  S_IRUSR | S_IWUSR);

	return fd < 0 && errno == EEXIST ? plh_sealed_file_open(control_path, 0) : fd;
}

/*
 * Open the file, or make it in its full size, in a directory that may have to be made again.  Only
 * making it takes the lock: a session that starts must not wait for a writer.  Returns -1, with
 * errno set, on failure.
 */
int
plh_control_file_open(void)
{
	struct stat status;
	int			saved_errno;
	int			fd;

	/* somebody else may have made it before us */
	if (plh_shared_directory_make(control_directory) != PLH_DIRECTORY_FINE ||
		(fd = open_or_create()) < 0)
		return -1;

	if (fstat(fd, &status) == 0 && status.st_size == sizeof(PlhControlFile))
		return fd;
	if (plh_control_file_lock(fd) && make_full_size(fd) && plh_sealed_file_seal(fd))
	{
		note_server(fd);
		(void) flock(fd, LOCK_UN);
		return fd;
	}
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return -1;
}

/* A server that starts makes a new file.  Returns a descriptor, for the caller to close, or -1. */
int
plh_control_file_map(const char *directory, uint64 cluster, bool new_server)
{
	struct stat status;
	void	   *mapped;
	int			fd;

	control_directory = directory;
	snprintf(control_path, sizeof(control_path), "%s/" CONTROL_FILE ".%llu",
			 directory, (unsigned long long) cluster);
	if (new_server)
		(void) unlink(control_path);
	fd = plh_control_file_open();
	if (fd < 0)
		return -1;
	mapped = mmap(NULL, sizeof(PlhControlFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
	{
		close(fd);
		return -1;
	}
	plh_control_file = mapped;
	control_inode = fstat(fd, &status) == 0 ? status.st_ino : 0;
	return fd;
}

/* Is the file of that name this server's, made again after somebody had removed it? */
static bool
was_made_again(void)
{
	uint64		server_start;
	int			fd = open(control_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool		ours = fd >= 0 &&
		plh_whole_io_read(fd, &server_start, sizeof(server_start),
						  offsetof(PlhControlFile, server_start)) ==
		sizeof(server_start) && server_start != 0 && server_start == plh_control_file->server_start;

	if (fd >= 0)
		close(fd);
	return ours;
}

/* Remove the file when the server stops, unless the next server has put its own in its place. */
bool
plh_control_file_unlink(void)
{
	struct stat status;

	return plh_control_file != NULL && lstat(control_path, &status) == 0 &&
		(status.st_ino == control_inode || was_made_again()) && unlink(control_path) == 0;
}
