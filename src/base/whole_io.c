/*
 * whole_io.c
 *	  Reads and writes that go on until all bytes are transferred.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/whole_io.h"

/*
 * Read up to "bytes" from the offset on.  Returns how many bytes were read, which are fewer only if
 * the file ends there, or -1, with errno set, on an error, after which the buffer may hold a part.
 */
ssize_t
plh_whole_io_read(int fd, void *buffer, Size bytes, off_t offset)
{
	Size		done = 0;

	while (done < bytes)
	{
		char	   *rest = (char *) buffer + done;
		ssize_t		part = offset == PLH_FILE_POSITION ?
			read(fd, rest, bytes - done) : pread(fd, rest, bytes - done, offset + done);

		if (part == 0)
			break;
		if (part > 0)
			done += part;
		else if (errno != EINTR)
			return -1;
	}
	return done;
}

/* Write all bytes.  On an error, returns false and sets errno; a part may have been written. */
bool
plh_whole_io_write(int fd, const void *data, Size bytes, off_t offset)
{
	Size		done = 0;

	while (done < bytes)
	{
		const char *rest = (const char *) data + done;
		ssize_t		part = offset == PLH_FILE_POSITION ?
			write(fd, rest, bytes - done) : pwrite(fd, rest, bytes - done, offset + done);

		/* like core, take no progress without an error for a full disk */
		if (part == 0)
			errno = ENOSPC;
		if (part > 0)
			done += part;
		else if (part == 0 || errno != EINTR)
			return false;
	}
	return true;
}
