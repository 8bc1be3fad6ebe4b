/*
 * test_symbol_files.c
 *	  Which files are tried for the symbols of a binary, and which of them belong to it.
 */
#include "postgres.h"

#include <unistd.h>

#include "symbols/debug_info.c"
#include "symbols/symbol_files.h"
#include "unit_tests.h"

/* The paths that were tried, and which of them opens; 0: none. */
static char tried[4][MAXPGPATH];
static int	tried_count;
static int	opens;

/* PlhTryFile */
static PlhModuleStatus
try_path(const char *path, const PlhBinary *binary, void *arg)
{
	strlcpy(tried[tried_count++], path, MAXPGPATH);
	return tried_count == opens ? PLH_MODULE_OPEN : PLH_MODULE_REPLACED;
}

static PlhModuleStatus
try_binary(const PlhBinary *binary, int which)
{
	tried_count = 0;
	opens = which;
	return plh_symbol_files_try_binary(binary, try_path, NULL);
}

static void
test_paths(void)
{
	const unsigned char build_id[] = {0xab, 0xcd, 0x0f};
	PlhBinary	binary = {.path = "/lib/a.so",.build_id = build_id,.build_id_bytes = 3};
	PlhBinary	plain = {.path = "/lib/a.so"};

	(void) unsetenv("DEBUGINFOD_URLS");
	ok(try_binary(&binary, 1) == PLH_MODULE_OPEN && tried_count == 1 &&
	   strcmp(tried[0], "/lib/a.so") == 0, "the path of a binary is tried first");
	ok(try_binary(&binary, 2) == PLH_MODULE_OPEN && strcmp(tried[1], "/proc/self/exe") == 0,
	   "then the program that runs");
	ok(try_binary(&binary, 0) == PLH_MODULE_REPLACED, "what is told is what became of the path");
	ok(try_binary(&plain, 2) == PLH_MODULE_REPLACED && tried_count == 1,
	   "without a build-id, the program is not known to be the same");
	tried_count = 0;
	opens = 1;
	ok(plh_symbol_files_try_debug(&binary, try_path, NULL) == PLH_MODULE_OPEN &&
	   strcmp(tried[0], "/usr/lib/debug/.build-id/ab/cd0f.debug") == 0,
	   "a debug file lies where distributions put it");
	tried_count = 0;
	ok(plh_symbol_files_try_debug(&plain, try_path, NULL) == PLH_MODULE_NO_FILE && tried_count == 0,
	   "there is none without a build-id");
}

static void
test_versions(void)
{
	const unsigned char build_id[] = {1, 2, 3};
	const unsigned char other[] = {1, 2, 4};
	PlhBinary	binary = {.build_id = build_id,.build_id_bytes = 3,.seen_at = 1000};
	PlhBinary	plain = {.seen_at = 1000};
	PlhBinary	any = {.seen_at = PLH_ANY_VERSION};
	struct stat before = {.st_ctime = 999,.st_mtime = 999};
	struct stat back_dated = {.st_ctime = 1001,.st_mtime = 500};

	ok(plh_symbol_files_is_binary(build_id, 3, &back_dated, &binary) &&
	   !plh_symbol_files_is_binary(other, 3, &before, &binary) &&
	   !plh_symbol_files_is_binary(build_id, 2, &before, &binary) &&
	   !plh_symbol_files_is_binary(build_id, 0, &before, &binary),
	   "a file is the binary that was loaded by its build-id");
	ok(plh_symbol_files_is_binary(NULL, 0, &before, &plain) &&
	   !plh_symbol_files_is_binary(NULL, 0, &back_dated, &plain) &&
	   !plh_symbol_files_is_binary(build_id, 3, &before, &plain),
	   "without one, if it has not changed since, whatever time it was given");
	ok(plh_symbol_files_is_binary(other, 3, &back_dated, &any), "or if any will do");
}

static void
test_errors(void)
{
	struct stat status;

	ok(plh_symbol_files_open("/no/such/file", &status) < 0 &&
	   plh_symbol_files_error() == PLH_MODULE_NO_FILE, "a file that is gone is missing");
	ok(plh_symbol_files_open("/dev/null/x", &status) < 0 &&
	   plh_symbol_files_error() == PLH_MODULE_NO_FILE, "so is one below what is no directory");
	ok(plh_symbol_files_open("/tmp", &status) < 0 &&
	   plh_symbol_files_error() == PLH_MODULE_UNREADABLE, "a directory cannot be read");
}

/* Two functions, one behind the other, and a third behind a gap. */
static void
test_ranges(void)
{
	FunctionRange ranges[] = {
		{.start = 0x100,.end = 0x180}, {.start = 0x180,.end = 0x200}, {.start = 0x300,.end = 0x301}
	};
	DwarfUnit	unit = {.ranges = ranges,.range_count = lengthof(ranges)};

	ok(range_of(&unit, 0x100) == &ranges[0] &&
	   range_of(&unit, 0x17f) == &ranges[0] &&
	   range_of(&unit, 0x180) == &ranges[1] &&
	   range_of(&unit, 0x300) == &ranges[2], "an address is in the function that has it");
	ok(range_of(&unit, 0xff) == NULL && range_of(&unit, 0x200) == NULL &&
	   range_of(&unit, 0x301) == NULL, "behind its end, and before its start, it is in none");
}

void
test_symbol_files(void)
{
	test_paths();
	test_versions();
	test_errors();
	test_ranges();
}
