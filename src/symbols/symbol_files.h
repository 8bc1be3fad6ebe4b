/*
 * symbol_files.h
 *	  Where the symbols of a binary may be: which files are tried, which of them belong to it, and
 *	  which debuginfod servers are asked.
 *
 * Runs in the symbolizer, and in tests: uses nothing of PostgreSQL's but types.
 */
#pragma once

#include <sys/stat.h>

/* The binary of a module, as a process had loaded it; the texts are the caller's. */
typedef struct PlhBinary
{
	const char *path;
	const unsigned char *build_id;
	int			build_id_bytes; /* 0: it has none */
	int64		seen_at;		/* seconds since 1970; used without build-id */
} PlhBinary;

/* In the place of seen_at: whatever version of the file is there now. */
#define PLH_ANY_VERSION PG_INT64_MAX

/* The outcome of opening a module. */
typedef enum PlhModuleStatus
{
	PLH_MODULE_OPEN,			/* the file is that of the loaded binary */
	PLH_MODULE_NAMES_ONLY,		/* the same, read without libdw: no lines */
	PLH_MODULE_NO_MEMORY,		/* memory ran out */
	PLH_MODULE_NO_FILE,			/* the file is gone */
	PLH_MODULE_REPLACED,		/* the file has another build-id */
	PLH_MODULE_UNREADABLE,		/* no permission, or not an ELF file */
	PLH_MODULE_FAILED,			/* the symbolizer ended when it was asked */
	PLH_MODULE_NOT_ASKED		/* no symbolizer could be started */
} PlhModuleStatus;

/* Opens a file of that path, if it belongs to the binary. */
typedef PlhModuleStatus (*PlhTryFile) (const char *path, const PlhBinary *binary, void *arg);

/* Returns -1, with errno set, unless it is a regular file: any other may block for ever. */
extern int	plh_symbol_files_open(const char *path, struct stat *status);

/* The status of a file that could not be opened so, by errno. */
extern PlhModuleStatus plh_symbol_files_error(void);

/* Is a file with that build-id (of 0 bytes: none) the binary? */
extern bool plh_symbol_files_is_binary(const unsigned char *build_id, int build_id_bytes,
									   const struct stat *status, const PlhBinary *binary);

/* Its path's status, unless the program that we run, which may be it, could be opened. */
extern PlhModuleStatus plh_symbol_files_try_binary(const PlhBinary *binary,
												   PlhTryFile try_file, void *arg);

/* The debug file of its build-id: the installed one, or a debuginfod server's. */
extern PlhModuleStatus plh_symbol_files_try_debug(const PlhBinary *binary,
												  PlhTryFile try_file, void *arg);

/* The words of pg_leakhunt.debuginfod_urls that are no address. */
#define PLH_SERVERS_SYSTEM "system"
#define PLH_SERVERS_NONE "none"

/* As pg_leakhunt.debuginfod_urls says.  To be called before libdw is loaded, which looks then. */
extern void plh_symbol_files_choose_servers(const char *setting);

/*
 * Servers may have been asked since that time of CLOCK_MONOTONIC, and there is nothing.  If that
 * took long, they do not answer: asks none any more in this process.
 */
extern void plh_symbol_files_asked_in_vain(int64 since_us);
