/*
 * summed_file.c
 *	  Files that a server keeps for the next one: some bytes with a checksum behind them.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "base/whole_io.h"
#include "reader/summed_file.h"

/* Behind the contents. */
typedef struct Foot
{
	uint64		bytes;			/* of all before this */
	char		magic[PLH_SUMMED_MAGIC_BYTES];
	pg_crc32c	checksum;		/* of all before this */
	uint32		unused;
} Foot;

/* Read what is open into memory. */
static void
read_open(int fd, Size least, Size most, PlhSummedFile *file)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size < (off_t) least || status.st_size > (off_t) most)
	{
		file->problem = "It has not the size of such a file.";
		return;
	}
	file->bytes = status.st_size;
	file->contents = palloc_extended(file->bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (file->contents == NULL)
		file->problem = "There is not enough memory to read it.";
	else if (plh_whole_io_read(fd, file->contents, file->bytes, 0) != (ssize_t) file->bytes)
		file->problem = "It could not be read.";
}

bool
plh_summed_file_read_bare(const char *path, Size least, Size most, PlhSummedFile *file)
{
	int			fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return false;
	read_open(fd, least, most, file);
	close(fd);
	return true;
}

/* Is that the foot of what is before it? */
static bool
is_foot(const Foot *foot, const char *magic, const PlhSummedFile *file)
{
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, file->contents, file->bytes + offsetof(Foot, checksum));
	FIN_CRC32C(checksum);
	return foot->bytes == file->bytes &&
		memcmp(foot->magic, magic, sizeof(foot->magic)) == 0 &&
		EQ_CRC32C(checksum, foot->checksum);
}

bool
plh_summed_file_read(const char *path, const char *magic, Size least, Size most,
					 PlhSummedFile *file)
{
	Foot		foot;

	if (!plh_summed_file_read_bare(path, least + sizeof(foot), most + sizeof(foot), file))
		return false;
	if (file->problem != NULL)
		return true;
	file->bytes -= sizeof(foot);
	memcpy(&foot, (char *) file->contents + file->bytes, sizeof(foot));
	if (!is_foot(&foot, magic, file))
		file->problem = "Its checksum is not that of its contents.";
	return true;
}

/* Write contents with their foot.  Returns an errno or 0. */
static int
write_new(const char *path, const char *magic, const void *contents, Size bytes, bool lasts)
{
	Foot		foot = {.bytes = bytes};
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
						  S_IRUSR | S_IWUSR);
	int			failure;

	if (fd < 0)
		return errno;
	memcpy(foot.magic, magic, sizeof(foot.magic));
	INIT_CRC32C(foot.checksum);
	COMP_CRC32C(foot.checksum, contents, bytes);
	COMP_CRC32C(foot.checksum, &foot, offsetof(Foot, checksum));
	FIN_CRC32C(foot.checksum);
	failure = plh_whole_io_write(fd, contents, bytes, PLH_FILE_POSITION) &&
		plh_whole_io_write(fd, &foot, sizeof(foot), PLH_FILE_POSITION) &&
		(!lasts || pg_fsync(fd) == 0) ? 0 : errno;
	if (close(fd) != 0 && failure == 0)
		failure = errno;
	return failure;
}

int
plh_summed_file_write(const char *path, const char *temporary, const char *magic,
					  const void *contents, Size bytes, bool lasts)
{
	int			failure = write_new(temporary, magic, contents, bytes, lasts);

	if (failure == 0 && rename(temporary, path) != 0)
		failure = errno;
	if (failure != 0)
		(void) unlink(temporary);
	return failure;
}
