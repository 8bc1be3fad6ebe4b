/*
 * debuginfod.c
 *	  Which debuginfod servers are asked for debug files, and the files that they have.
 *
 * A production server must not go to the network unasked.  So the addresses that a distribution has
 * put below /etc/debuginfod count only if the setting says so; by itself only the server's
 * environment does, which somebody has made.
 *
 * libdw and libdebuginfod take the addresses from the environment, and do without the network where
 * it has none.  They wait 90 seconds for a server that does not answer, six times for each binary;
 * whoever waits for names does not have that time.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/whole_io.h"
#include "symbols/debuginfod.h"

#define ADDRESSES "DEBUGINFOD_URLS"

/* Where distributions have addresses, for the profile script of elfutils. */
#define SYSTEM_FILES "/etc/debuginfod/" "*.urls"

/*
 * Seconds to wait for a server to send something, and how often to ask it again, unless the
 * environment has others.
 */
#define PATIENCE "DEBUGINFOD_TIMEOUT"
#define PATIENCE_SECONDS "15"
#define REPETITIONS "DEBUGINFOD_RETRY_LIMIT"

/* A server that answers at all has begun to before that. */
#define LONG_WAIT_US 10000000

/* More than that of these files is left out. */
#define MAX_SYSTEM_BYTES 4096

/* Append the text of a file, on one line.  Returns the new length. */
static Size
append_file(char *text, Size length, const char *path)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Size		room = MAX_SYSTEM_BYTES - 1 - length;
	ssize_t		bytes;

	if (fd < 0)
		return length;
	bytes = plh_whole_io_read(fd, text + length, room, PLH_FILE_POSITION);
	close(fd);

	/* a text that does not end here may be half an address */
	if (bytes <= 0 || bytes == room)
		return length;
	for (ssize_t i = 0; i < bytes; i++)
		if (text[length + i] == '\n' || text[length + i] == '\0')
			text[length + i] = ' ';
	return length + bytes;
}

/* Set the environment as elfutils' script for shells does: from the system's files. */
static void
take_system_addresses(void)
{
	char		text[MAX_SYSTEM_BYTES];
	Size		length = 0;
	glob_t		files;

	if (glob(SYSTEM_FILES, 0, NULL, &files) != 0)
		return;
	for (size_t i = 0; i < files.gl_pathc; i++)
		length = append_file(text, length, files.gl_pathv[i]);
	globfree(&files);
	text[length] = '\0';
	if (text[strspn(text, " ")] != '\0')
		(void) setenv(ADDRESSES, text, 1);
}

/*
 * Set the environment of this process as the setting says.  Empty, it leaves the addresses as they
 * are.
 */
void
plh_debuginfod_choose(const char *setting)
{
	const char *inherited = getenv(ADDRESSES);

	(void) setenv(PATIENCE, PATIENCE_SECONDS, 0);
	(void) setenv(REPETITIONS, "0", 0);
	if (setting == NULL || setting[0] == '\0')
		return;
	if (strcmp(setting, PLH_DEBUGINFOD_NONE) == 0)
		(void) unsetenv(ADDRESSES);
	else if (strcmp(setting, PLH_DEBUGINFOD_SYSTEM) != 0)
		(void) setenv(ADDRESSES, setting, 1);
	else if (inherited == NULL || inherited[0] == '\0')
		take_system_addresses();
}

/*
 * Servers may have been asked since that time of CLOCK_MONOTONIC, and there is nothing.  If that
 * took long, they do not answer: ask nobody any more in this process.
 */
void
plh_debuginfod_asked_in_vain(int64 since_us)
{
	if (plh_clock_us(CLOCK_MONOTONIC) - since_us > LONG_WAIT_US)
		(void) unsetenv(ADDRESSES);
}

/*
 * Types of debuginfod_begin and debuginfod_find_debuginfo.  Their header need not be installed to
 * build us.
 */
typedef void *(*BeginClient) (void);
typedef int (*FindDebugFile) (void *client, const unsigned char *build_id,
							  int build_id_bytes, char **path);

char *
plh_debuginfod_fetch(const PlhBinary *binary)
{
	const char *addresses = getenv(ADDRESSES);
	void	   *library;
	BeginClient begin;
	FindDebugFile find;
	void	   *client;
	char	   *path = NULL;
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int			fd;

	if (addresses == NULL || addresses[0] == '\0' || binary->build_id_bytes == 0)
		return NULL;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return NULL;
	begin = (BeginClient) dlsym(library, "debuginfod_begin");
	find = (FindDebugFile) dlsym(library, "debuginfod_find_debuginfo");
	if (begin == NULL || find == NULL || (client = begin()) == NULL)
		return NULL;

	/* never ended: the client lives as long as the symbolizer */
	fd = find(client, binary->build_id, binary->build_id_bytes, &path);
	if (fd < 0)
	{
		plh_debuginfod_asked_in_vain(began_us);
		return NULL;
	}
	close(fd);
	return path;
}
