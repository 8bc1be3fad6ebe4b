/*
 * test_whole_io.c
 *	  Whole reads and writes, by system calls that transfer little at a time and
 *	  are interrupted.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

static ssize_t fitful_read(int fd, void *buffer, size_t bytes);
static ssize_t fitful_pread(int fd, void *buffer, size_t bytes, off_t offset);
static ssize_t fitful_write(int fd, const void *data, size_t bytes);
static ssize_t fitful_pwrite(int fd, const void *data, size_t bytes,
							 off_t offset);

#undef pread
#undef pwrite
#define read fitful_read
#define pread fitful_pread
#define write fitful_write
#define pwrite fitful_pwrite
#include "base/whole_io.c"
#undef read
#undef pread
#undef write
#undef pwrite

#include "unit_tests.h"

/* Bytes that a system call transfers at most; 0 = as many as it likes. */
static size_t most_bytes;

/* Every other system call is interrupted. */
static bool interrupts;

/* A system call that does nothing, and has no error to tell. */
static bool no_progress;

static int	calls;

/* What a system call is to do: false if it fails, with errno EINTR. */
static bool
begin_call(size_t *bytes)
{
	if (interrupts && calls++ % 2 == 0)
	{
		errno = EINTR;
		return false;
	}
	if (most_bytes > 0)
		*bytes = Min(*bytes, most_bytes);
	if (no_progress)
		*bytes = 0;
	return true;
}

static ssize_t
fitful_read(int fd, void *buffer, size_t bytes)
{
	return begin_call(&bytes) ? read(fd, buffer, bytes) : -1;
}

static ssize_t
fitful_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	return begin_call(&bytes) ? pread(fd, buffer, bytes, offset) : -1;
}

static ssize_t
fitful_write(int fd, const void *data, size_t bytes)
{
	return begin_call(&bytes) ? write(fd, data, bytes) : -1;
}

static ssize_t
fitful_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	return begin_call(&bytes) ? pwrite(fd, data, bytes, offset) : -1;
}

/* Through a pipe there and back; its buffer is not to be asked for more. */
static void
test_pipe(void)
{
	const char	text[] = "one, two, three";
	char		back[64] = "";
	int			ends[2];

	if (pipe(ends) != 0)
		abort();
	ok(plh_whole_io_write(ends[1], text, 5, PLH_FILE_POSITION) &&
	   plh_whole_io_write(ends[1], text + 5, sizeof(text) - 5,
						  PLH_FILE_POSITION),
	   "a pipe takes all bytes");
	ok(plh_whole_io_read(ends[0], back, 4, PLH_FILE_POSITION) == 4 &&
	   memcmp(back, text, 4) == 0,
	   "as many bytes of a pipe are read as were asked for");
	close(ends[1]);
	ok(plh_whole_io_read(ends[0], back + 4, sizeof(back) - 4,
						 PLH_FILE_POSITION) == sizeof(text) - 4 &&
	   strcmp(back, text) == 0,
	   "what is left is read where the pipe ends");
	ok(plh_whole_io_read(ends[0], back, 1, PLH_FILE_POSITION) == 0,
	   "no byte is read at the end of a pipe");
	close(ends[0]);
}

/* A file, at offsets. */
static void
test_file(void)
{
	char		back[16] = "";
	FILE	   *file = tmpfile();
	int			fd;

	if (file == NULL)
		abort();
	fd = fileno(file);
	ok(plh_whole_io_write(fd, "0123456789", 10, 0) &&
	   plh_whole_io_write(fd, "abc", 3, 4), "a file is written at offsets");
	ok(plh_whole_io_read(fd, back, 7, 2) == 7 &&
	   strcmp(back, "23abc78") == 0, "a file is read at an offset");
	ok(plh_whole_io_read(fd, back, sizeof(back), 8) == 2 &&
	   memcmp(back, "89", 2) == 0, "a file is read up to its end");
	ok(plh_whole_io_read(fd, back, 1, PLH_FILE_POSITION) == 1 &&
	   back[0] == '0', "a read at an offset leaves the position where it was");
	fclose(file);
}

/* What can't be done. */
static void
test_errors(void)
{
	char		byte = 0;
	int			full = open("/dev/full", O_WRONLY);
	int			null = open("/dev/null", O_WRONLY);

	errno = 0;
	ok(plh_whole_io_read(-1, &byte, 1, PLH_FILE_POSITION) == -1 &&
	   errno == EBADF, "a read that fails sets an error number");
	errno = 0;
	ok(!plh_whole_io_write(full, &byte, 1, PLH_FILE_POSITION) &&
	   errno == ENOSPC, "a write that fails sets an error number");
	errno = 0;
	no_progress = true;
	ok(!plh_whole_io_write(null, &byte, 1, PLH_FILE_POSITION) &&
	   errno == ENOSPC, "a write without progress is want of space");
	no_progress = false;
	close(full);
	close(null);
}

void
test_whole_io(void)
{
	test_pipe();
	test_file();
	test_errors();
	printf("# the same by system calls that are interrupted, and do little\n");
	most_bytes = 3;
	interrupts = true;
	test_pipe();
	test_file();
	test_errors();
	most_bytes = 0;
	interrupts = false;
}
