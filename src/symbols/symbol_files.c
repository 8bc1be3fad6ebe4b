/*
 * symbol_files.c
 *	  Where the symbols of a binary may be: which files are tried, and which of them belong to
 *	  it.
 *
 * The binary serves if it is still the one that the process had loaded.  Else the binary's debug
 * file serves, which is found by the build-id: on this machine, or on a debuginfod server if one is
 * to be asked (debuginfod.c).
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "symbols/debuginfod.h"
#include "symbols/symbol_files.h"

/* The directory in which distributions install debug files by build-id. */
#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"

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

/*
 * Is an open file the binary that the process of the profile had loaded?  The build-id decides.  If
 * there is none, the file must not have changed since by its ctime, which unlike mtime nobody can
 * set.
 */
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

/* Try the installed debug file of a binary that has a build-id. */
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

/* Try the debug file that a debuginfod server has, if one is to be asked. */
static PlhModuleStatus
try_served(const PlhBinary *binary, PlhTryFile try_file, void *arg)
{
	PlhModuleStatus status = PLH_MODULE_NO_FILE;
	char	   *path = plh_debuginfod_fetch(binary);

	if (path != NULL)
		status = try_file(path, binary, arg);
	free(path);
	return status;
}

PlhModuleStatus
plh_symbol_files_try_debug(const PlhBinary *binary, PlhTryFile try_file, void *arg)
{
	if (binary->build_id_bytes == 0)
		return PLH_MODULE_NO_FILE;
	if (try_installed(binary, try_file, arg) == PLH_MODULE_OPEN)
		return PLH_MODULE_OPEN;
	return try_served(binary, try_file, arg);
}
