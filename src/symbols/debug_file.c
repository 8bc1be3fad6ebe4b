/*
 * debug_file.c
 *	  Finds the file that has the symbols of a module, and loads libdw, which
 *	  reads it.
 *
 * The binary serves if it is still the one that the process had loaded.  Else
 * the module's debug file serves, which is found by the build-id: on this
 * machine, or on a debuginfod server if the environment names one.
 *
 * libdw is loaded when it is first needed.  If pg_leakhunt were linked to it,
 * every fork and exit of every server process would be slower.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/page_layout.h"
#include "symbols/debug_file.h"

/* The directory in which distributions install debug files by build-id. */
#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"

PLH_LARGE PlhLibdw plh_libdw;

static Dwfl_Callbacks callbacks;

#define LOAD_FUNCTION(name) \
	plh_libdw.name = (__typeof__(name) *) dlsym(library, #name); \
	complete &= plh_libdw.name != NULL;

/*
 * Load libdw, once.  Returns false if it, or one of its functions, is missing.
 */
static bool
load_libdw(void)
{
	static bool tried = false;
	static bool complete = false;
	void	   *library;

	if (tried)
		return complete;
	tried = true;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return false;

	complete = true;
	PLH_FOR_EACH_FUNCTION(LOAD_FUNCTION)
		callbacks.find_elf = plh_libdw.dwfl_build_id_find_elf;
	callbacks.find_debuginfo = plh_libdw.dwfl_standard_find_debuginfo;
	callbacks.section_address = plh_libdw.dwfl_offline_section_address;
	return complete;
}

/*
 * Is the open file the binary that the process of the profile had loaded?  The
 * build-id decides.  If there is none, the file must not have changed since by
 * its ctime, which unlike mtime nobody can set.
 */
static bool
is_binary(Dwfl_Module *module, const struct stat *status,
		  const PlhBinary *binary)
{
	const unsigned char *found;
	GElf_Addr	address;
	int			found_bytes = plh_libdw.dwfl_module_build_id(module, &found,
															 &address);

	if (binary->seen_at == PLH_ANY_VERSION)
		return true;
	if (binary->build_id_bytes == 0)
		return found_bytes <= 0 && status->st_ctime < binary->seen_at;
	return found_bytes == binary->build_id_bytes &&
		memcmp(found, binary->build_id, found_bytes) == 0;
}

/* Open a file if it is a regular one: any other may block for ever. */
static int
open_file(const char *path, struct stat *status)
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

/* Open a file by libdw; keep it open only if it belongs to the binary. */
static PlhModuleStatus
open_path(const char *path, const PlhBinary *binary, PlhDebugFile *file)
{
	PlhModuleStatus status = PLH_MODULE_UNREADABLE;
	struct stat file_status;
	int			fd = open_file(path, &file_status);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? PLH_MODULE_NO_FILE :
			PLH_MODULE_UNREADABLE;

	file->dwfl = plh_libdw.dwfl_begin(&callbacks);
	if (file->dwfl != NULL)
		file->module = plh_libdw.dwfl_report_elf(file->dwfl, path, path, fd, 0,
												 false);
	if (file->module == NULL)
		close(fd);
	else if (plh_libdw.dwfl_report_end(file->dwfl, NULL, NULL) == 0 &&
			 plh_libdw.dwfl_module_getelf(file->module, &file->bias) != NULL)
		status = is_binary(file->module, &file_status, binary) ?
			PLH_MODULE_OPEN : PLH_MODULE_REPLACED;

	if (status != PLH_MODULE_OPEN)
	{
		if (file->dwfl != NULL)
			plh_libdw.dwfl_end(file->dwfl);
		memset(file, 0, sizeof(*file));
	}
	return status;
}

/* Open the installed debug file of a binary that has a build-id. */
static PlhModuleStatus
open_debug_file(const PlhBinary *binary, PlhDebugFile *file)
{
	char		path[PLH_PATH_MAX];
	int			length;

	if (binary->build_id_bytes < 2)
		return PLH_MODULE_NO_FILE;
	length = snprintf(path, sizeof(path), "%s/%02x/", DEBUG_DIRECTORY,
					  binary->build_id[0]);
	for (int i = 1; i < binary->build_id_bytes; i++)
		length += snprintf(path + length, sizeof(path) - length, "%02x",
						   binary->build_id[i]);
	snprintf(path + length, sizeof(path) - length, ".debug");
	return open_path(path, binary, file);
}

/*
 * Types of debuginfod_begin and debuginfod_find_debuginfo.  Their header need
 * not be installed to build us.
 */
typedef void *(*BeginClient) (void);
typedef int (*FindDebugFile) (void *client, const unsigned char *build_id,
							  int build_id_bytes, char **path);

/*
 * Open the debug file from a debuginfod server, if the environment names one.
 */
static PlhModuleStatus
open_served_file(const PlhBinary *binary, PlhDebugFile *file)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	PlhModuleStatus status = PLH_MODULE_NO_FILE;
	void	   *library;
	BeginClient begin;
	FindDebugFile find;
	void	   *client;
	char	   *path;
	int			fd;

	if (urls == NULL || urls[0] == '\0' || binary->build_id_bytes == 0)
		return status;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return status;
	begin = (BeginClient) dlsym(library, "debuginfod_begin");
	find = (FindDebugFile) dlsym(library, "debuginfod_find_debuginfo");
	if (begin == NULL || find == NULL || (client = begin()) == NULL)
		return status;

	/* never ended: the client lives as long as the symbolizer */
	fd = find(client, binary->build_id, binary->build_id_bytes, &path);
	if (fd >= 0)
	{
		close(fd);
		status = open_path(path, binary, file);
		free(path);
	}
	return status;
}

/*
 * Open the file with the symbols of a binary that a process had loaded.  If
 * its path now leads to another file, try the program that we run, which may
 * be the removed binary itself, and then debug files.  Returns the status of
 * the path unless one of these could be opened.
 */
PlhModuleStatus
plh_debug_file_open(const PlhBinary *binary, PlhDebugFile *file)
{
	PlhModuleStatus status;

	if (!load_libdw())
		return PLH_MODULE_NO_LIBRARY;
	status = open_path(binary->path, binary, file);
	if (status == PLH_MODULE_OPEN ||
		(binary->build_id_bytes > 0 &&
		 (open_path("/proc/self/exe", binary, file) == PLH_MODULE_OPEN ||
		  open_debug_file(binary, file) == PLH_MODULE_OPEN ||
		  open_served_file(binary, file) == PLH_MODULE_OPEN)))
		return PLH_MODULE_OPEN;
	return status;
}
