/*
 * symbol_files.c
 *	  Where the symbols of a binary may be: which files are tried, which of them belong to it, and
 *	  which debuginfod servers are asked.
 *
 * The binary serves if it is still the one that the process had loaded.  Else the binary's debug
 * file serves, which is found by the build-id: on this machine, or on a debuginfod server if one is
 * to be asked.
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
#include "base/limits.h"
#include "base/whole_io.h"
#include "symbols/symbol_files.h"

/* The directory in which distributions install debug files by build-id. */
#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"

#define ADDRESSES "DEBUGINFOD_URLS"

/* Where distributions have addresses, for the profile script of elfutils. */
#define SYSTEM_FILES "/etc/debuginfod/" "*.urls"

/* Seconds to wait for a server, and how often to ask again, unless the environment has others. */
#define PATIENCE "DEBUGINFOD_TIMEOUT"
#define PATIENCE_SECONDS "15"
#define REPETITIONS "DEBUGINFOD_RETRY_LIMIT"

/* A server that answers at all has begun to before that. */
#define LONG_WAIT_US 10000000

/* More than that of these files is left out. */
#define MAX_SYSTEM_BYTES 4096

int
plh_symbol_files_open(const char *path, struct stat *status)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode)))
	{
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

PlhModuleStatus
plh_symbol_files_error(void)
{
	return errno == ENOENT || errno == ENOTDIR ? PLH_MODULE_NO_FILE : PLH_MODULE_UNREADABLE;
}

/* The build-id decides; without one the ctime, which unlike mtime nobody can set. */
bool
plh_symbol_files_is_binary(const unsigned char *build_id, int build_id_bytes,
						   const struct stat *status, const PlhBinary *binary)
{
	if (binary->seen_at == PLH_ANY_VERSION)
		return true;
	if (binary->build_id_bytes == 0)
		return build_id_bytes <= 0 && status->st_ctime < binary->seen_at;
	return build_id_bytes == binary->build_id_bytes &&
		memcmp(build_id, binary->build_id, build_id_bytes) == 0;
}

PlhModuleStatus
plh_symbol_files_try_binary(const PlhBinary *binary, PlhTryFile try_file, void *arg)
{
	PlhModuleStatus status = try_file(binary->path, binary, arg);

	if (status != PLH_MODULE_OPEN && binary->build_id_bytes > 0 &&
		try_file("/proc/self/exe", binary, arg) == PLH_MODULE_OPEN)
		return PLH_MODULE_OPEN;
	return status;
}

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

/* An empty setting leaves the addresses as they are. */
void
plh_symbol_files_choose_servers(const char *setting)
{
	const char *inherited = getenv(ADDRESSES);

	(void) setenv(PATIENCE, PATIENCE_SECONDS, 0);
	(void) setenv(REPETITIONS, "0", 0);
	if (setting == NULL || setting[0] == '\0')
		return;
	if (strcmp(setting, PLH_SERVERS_NONE) == 0)
		(void) unsetenv(ADDRESSES);
	else if (strcmp(setting, PLH_SERVERS_SYSTEM) != 0)
		(void) setenv(ADDRESSES, setting, 1);
	else if (inherited == NULL || inherited[0] == '\0')
		take_system_addresses();
}

void
plh_symbol_files_asked_in_vain(int64 since_us)
{
	if (plh_clock_us(CLOCK_MONOTONIC) - since_us > LONG_WAIT_US)
		(void) unsetenv(ADDRESSES);
}

static PlhModuleStatus
try_installed(const PlhBinary *binary, PlhTryFile try_file, void *arg)
{
	char		path[PLH_PATH_MAX];
	int			length;

	if (binary->build_id_bytes < 2)
		return PLH_MODULE_NO_FILE;
	length = snprintf(path, sizeof(path), "%s/%02x/", DEBUG_DIRECTORY, binary->build_id[0]);
	for (int i = 1; i < binary->build_id_bytes; i++)
		length += snprintf(path + length, sizeof(path) - length, "%02x", binary->build_id[i]);
	snprintf(path + length, sizeof(path) - length, ".debug");
	return try_file(path, binary, arg);
}

/* debuginfod_begin and debuginfod_find_debuginfo: their header need not be installed. */
typedef void *(*BeginClient) (void);
typedef int (*FindDebugFile) (void *client, const unsigned char *build_id,
							  int build_id_bytes, char **path);

/* Its path, to be freed; NULL if there is none, or if nobody is to be asked. */
static char *
fetch_debug_file(const PlhBinary *binary)
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
		plh_symbol_files_asked_in_vain(began_us);
		return NULL;
	}
	close(fd);
	return path;
}

PlhModuleStatus
plh_symbol_files_try_debug(const PlhBinary *binary, PlhTryFile try_file, void *arg)
{
	PlhModuleStatus status;
	char	   *served;

	if (binary->build_id_bytes == 0)
		return PLH_MODULE_NO_FILE;
	if (try_installed(binary, try_file, arg) == PLH_MODULE_OPEN)
		return PLH_MODULE_OPEN;
	served = fetch_debug_file(binary);
	status = served != NULL ? try_file(served, binary, arg) : PLH_MODULE_NO_FILE;
	free(served);
	return status;
}
