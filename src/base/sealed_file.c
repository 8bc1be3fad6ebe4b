/*
 * sealed_file.c
 *	  Files that processes have mapped, protected from being cut short.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sealed_file.h"

/* Tries to open a file that others open, too. */
#define MAX_TRIES 100

/* Tries to reserve a part of a file, if they are interrupted all the same. */
#define MAX_RESERVE_TRIES 10

/* Close a descriptor without a change of errno.  Returns -1. */
static int
close_after_failure(int fd)
{
	int			saved_errno = errno;

	close(fd);
	errno = saved_errno;
	return -1;
}

/*
 * Create a new file, in place of one that a dead process may have left, and open it to write.
 * Returns -1, with errno set, on failure.
 */
int
plh_sealed_file_create(const char *path)
{
	(void) unlink(path);
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

/*
 * Do two descriptors have the same file open?  If not, or if that can't be told, errno is set:
 * ESTALE if they have not.
 */
static bool
is_same_file(int a, int b)
{
	struct stat left;
	struct stat right;

	if (fstat(a, &left) != 0 || fstat(b, &right) != 0)
		return false;
	errno = ESTALE;
	return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/* Open a file, which "sealed" has open to read, to write. */
static int
open_unsealed(const char *path, int sealed)
{
	int			fd;
	int			saved_errno;

	if (fchmod(sealed, S_IRUSR | S_IWUSR) != 0)
		return -1;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	/* what is open stays open to write */
	saved_errno = errno;
	(void) plh_sealed_file_seal(sealed);
	errno = saved_errno;
	if (fd >= 0 && !is_same_file(fd, sealed))
		return close_after_failure(fd);
	return fd;
}

/*
 * Open a sealed file to write; it stays sealed for all others.  Returns -1, with errno set, on
 * failure; ESTALE stands for another file in the place of the one with that inode, where "inode" is
 * not 0.
 */
int
plh_sealed_file_open(const char *path, ino_t inode)
{
	struct stat status;
	int			fd = -1;

	/* nobody waits for the writer of a FIFO that has the name */
	int			sealed = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (sealed < 0)
		return -1;
	if (fstat(sealed, &status) != 0)
		return close_after_failure(sealed);
	if (inode != 0 && status.st_ino != inode)
	{
		errno = ESTALE;
		return close_after_failure(sealed);
	}

	/* another process that does the same may seal the file in between */
	for (int tries = 0; tries < MAX_TRIES && fd < 0; tries++)
	{
		fd = open_unsealed(path, sealed);
		if (fd < 0 && errno != EACCES)
			break;
	}
	(void) close_after_failure(sealed);
	return fd;
}

/* Seal a file that is open.  Returns false, with errno set, on failure. */
bool
plh_sealed_file_seal(int fd)
{
	return fchmod(fd, S_IRUSR) == 0;
}

/*
 * Reserve part of a file on its file system.  If true, it will not SIGBUS; otherwise errno is set.
 * A file system in memory begins anew after each signal, and would never end where signals come
 * often: so they wait.
 */
bool
plh_sealed_file_reserve(int fd, off_t offset, off_t bytes)
{
	sigset_t	all_signals;
	sigset_t	signals;
	int			failure = EINTR;

	sigfillset(&all_signals);
	sigprocmask(SIG_SETMASK, &all_signals, &signals);
	for (int tries = 0; tries < MAX_RESERVE_TRIES && failure == EINTR; tries++)
		failure = posix_fallocate(fd, offset, bytes);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	errno = failure;
	return failure == 0;
}
