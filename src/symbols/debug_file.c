/*
 * debug_file.c
 *	  Opens the file that has the symbols of a module, and loads libdw, which
 *	  reads it.
 *
 * libdw is loaded when it is first needed.  If pg_leakhunt were linked to it,
 * every fork and exit of every server process would be slower.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/page_layout.h"
#include "symbols/debug_file.h"
#include "symbols/symbol_files.h"

PLH_LARGE PlhLibdw plh_libdw;

static Dwfl_Callbacks callbacks;

#define LOAD_FUNCTION(name) \
	plh_libdw.name = (__typeof__(name) *) dlsym(library, #name); \
	complete &= plh_libdw.name != NULL;

/*
 * Load libdw, once.  Returns false if it, or one of its functions, is missing.
 */
bool
plh_debug_file_load_library(void)
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

/* Is the open file the binary that the process of the profile had loaded? */
static bool
is_binary(Dwfl_Module *module, const struct stat *status,
		  const PlhBinary *binary)
{
	const unsigned char *build_id = NULL;
	GElf_Addr	address;
	int			bytes = plh_libdw.dwfl_module_build_id(module, &build_id,
													   &address);

	return plh_symbol_files_is_binary(build_id, bytes, status, binary);
}

/* PlhTryFile: open a file by libdw; keep it open only if it belongs to the binary. */
static PlhModuleStatus
open_path(const char *path, const PlhBinary *binary, void *arg)
{
	PlhDebugFile *file = arg;
	PlhModuleStatus status = PLH_MODULE_UNREADABLE;
	struct stat file_status;
	int			fd = plh_symbol_files_open(path, &file_status);

	if (fd < 0)
		return plh_symbol_files_error();

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

/*
 * Open the file with the symbols of a binary that a process had loaded: the binary, or
 * else its debug file.  Returns the status of the binary's path if neither can be
 * opened.
 */
PlhModuleStatus
plh_debug_file_open(const PlhBinary *binary, PlhDebugFile *file)
{
	PlhModuleStatus status = plh_symbol_files_try_binary(binary, open_path, file);

	if (status != PLH_MODULE_OPEN &&
		plh_symbol_files_try_debug(binary, open_path, file) == PLH_MODULE_OPEN)
		return PLH_MODULE_OPEN;
	return status;
}
