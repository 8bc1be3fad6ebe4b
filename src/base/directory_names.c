/*
 * directory_names.c
 *	  The names in a directory, read without allocating anything.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory_names.h"

/* An entry of a directory, as the kernel returns it. */
typedef struct DirectoryEntry
{
	uint64		inode;
	int64		offset;
	unsigned short bytes;		/* of this entry */
	unsigned char type;
	char		name[];
} DirectoryEntry;

/* Call "visit" with each name in the directory, in no particular order.  Returns an errno or 0. */
int
plh_directory_names_visit(const char *directory, PlhNameVisitor visit, void *arg)
{
	union
	{
		DirectoryEntry entry;
		char		bytes[8192];
	}			buffer;
	int			failure = 0;
	int			fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	for (;;)
	{
		long		length = syscall(SYS_getdents64, fd, buffer.bytes, sizeof(buffer.bytes));
		const DirectoryEntry *entry;

		if (length < 0)
			failure = errno;
		if (length <= 0)
			break;
		for (long at = 0; at < length; at += entry->bytes)
		{
			entry = (const DirectoryEntry *) (buffer.bytes + at);
			visit(entry->name, arg);
		}
	}
	close(fd);
	return failure;
}
