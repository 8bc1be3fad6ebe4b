/*
 * own_memory.c
 *	  What QEMU's emulation of a single process lacks: process_vm_readv, of the process
 *	  itself.  To be preloaded to emulated programs.
 *
 * A pipe takes memory that is there, and refuses what is not.  It is another one at each
 * call, as forked processes would share one.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t
process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
				 const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
	int			ends[2];
	ssize_t		bytes;

	if (pid != getpid() || locals != 1 || remotes != 1 ||
		local->iov_len != remote->iov_len || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
	{
		errno = ENOSYS;
		return -1;
	}
	bytes = write(ends[1], remote->iov_base, remote->iov_len);
	if (bytes > 0)
		bytes = read(ends[0], local->iov_base, bytes);
	close(ends[0]);
	close(ends[1]);
	return bytes;
}
