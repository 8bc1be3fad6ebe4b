/*
 * debug_info.h
 *	  What a binary's debug information and symbol tables say about an
 *	  address: functions, inlined ones included, files and lines.
 *
 * Runs in the symbolizer, a process of its own (symbolizer.h), and in tests:
 * uses malloc, never anything of PostgreSQL's but types.  "No symbol" is an
 * answer, not an error.  What it reads may be anything: a file that makes
 * libdw crash or loop costs that process, nothing else.
 */
#ifndef PLH_DEBUG_INFO_H
#define PLH_DEBUG_INFO_H

#include "profile/source_frame.h"

/* What became of opening a module. */
typedef enum PlhModuleStatus
{
	PLH_MODULE_OPEN,			/* found, and the very binary that was loaded */
	PLH_MODULE_NO_LIBRARY,		/* libdw is not installed */
	PLH_MODULE_NO_FILE,			/* the file is gone */
	PLH_MODULE_REPLACED,		/* the file has another build-id */
	PLH_MODULE_UNREADABLE,		/* no permission, or not an ELF file */
	PLH_MODULE_FAILED,			/* the symbolizer died of it */
	PLH_MODULE_NOT_ASKED		/* there is no symbolizer */
} PlhModuleStatus;

/* The best that an open module has. */
typedef enum PlhSymbolSource
{
	PLH_SOURCE_NOTHING,
	PLH_SOURCE_DYNAMIC_SYMBOLS,
	PLH_SOURCE_SYMBOL_TABLE,
	PLH_SOURCE_DEBUG_INFORMATION
} PlhSymbolSource;

typedef struct PlhDebugModule PlhDebugModule;

/* A binary as it was loaded. */
typedef struct PlhBinary
{
	const char *path;
	const unsigned char *build_id;
	int			build_id_bytes; /* 0: it has none */
	int64		seen_at;		/* seconds since 1970; counts without build-id */
} PlhBinary;

extern PlhModuleStatus plh_debug_info_open(const PlhBinary *binary,
										   PlhDebugModule **opened);
extern PlhSymbolSource plh_debug_info_source(PlhDebugModule *module,
											 const char **file);
extern int	plh_debug_info_frames(PlhDebugModule *module, uint64 address,
								  PlhSourceFrame *frames);
extern void plh_debug_info_close(PlhDebugModule *module);
extern char *plh_debug_info_demangle(const char *name);

#endif							/* PLH_DEBUG_INFO_H */
