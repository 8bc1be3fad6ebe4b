/*
 * symbol_files.h
 *	  Where the symbols of a binary may be: which files are tried, and which of them belong to
 *	  it.
 *
 * Runs in the symbolizer, and in tests: uses nothing of PostgreSQL's but types.
 */
#pragma once

#include <sys/stat.h>

#include "symbols/binary.h"

/* Opens a file of that path, if it belongs to the binary. */
typedef PlhModuleStatus (*PlhTryFile) (const char *path, const PlhBinary *binary, void *arg);

/*
 * Open a file for reading.  Returns -1, with errno set, unless it is a regular one: any other may
 * block for ever.
 */
extern int	plh_symbol_files_open(const char *path, struct stat *status);

/* The status of a file that could not be opened so, by errno. */
extern PlhModuleStatus plh_symbol_files_error(void);

/* Is a file with that build-id (of 0 bytes: none) the binary? */
extern bool plh_symbol_files_is_binary(const unsigned char *build_id, int build_id_bytes,
									   const struct stat *status,
									   const PlhBinary *binary);

/*
 * The binary itself.  Returns the status of its path, unless the program that we run, which may be
 * the removed binary, could be opened.
 */
extern PlhModuleStatus plh_symbol_files_try_binary(const PlhBinary *binary,
												   PlhTryFile try_file, void *arg);

/* The debug file of its build-id: the installed one, or a debuginfod server's. */
extern PlhModuleStatus plh_symbol_files_try_debug(const PlhBinary *binary,
												  PlhTryFile try_file, void *arg);
