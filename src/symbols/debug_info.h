/*
 * debug_info.h
 *	  Reads debug information and symbol tables: from an address of a module to its functions,
 *	  inlined ones included, files and lines.
 *
 * Runs in the symbolizer, a process of its own (symbolizer.h), and in tests.  Allocates by malloc,
 * and uses nothing of PostgreSQL's but types.  "No symbol" is an answer, not an error.  The files
 * may be hostile: one that makes libdw crash or loop costs that process, and nothing else.
 */
#pragma once

#include "profile/source_frame.h"
#include "symbols/symbol_files.h"

/* The best source of symbols that an open module has. */
typedef enum PlhSymbolSource
{
	PLH_SOURCE_NOTHING,
	PLH_SOURCE_DYNAMIC_SYMBOLS,
	PLH_SOURCE_SYMBOL_TABLE,
	PLH_SOURCE_DEBUG_INFORMATION
} PlhSymbolSource;

typedef struct PlhDebugModule PlhDebugModule;

/*
 * Sets "opened", which must be NULL, only if it is PLH_MODULE_OPEN, or without libdw
 * PLH_MODULE_NAMES_ONLY.  plh_debug_info_close ends it, and all texts that were returned about it.
 */
extern PlhModuleStatus plh_debug_info_open(const PlhBinary *binary, PlhDebugModule **opened);
extern PlhSymbolSource plh_debug_info_source(PlhDebugModule *module, const char **file);

/* Needs room for PLH_MAX_INLINED.  Returns how many were set, 0 if none is known for sure. */
extern int	plh_debug_info_frames(PlhDebugModule *module, uint64 address, PlhSourceFrame *frames);
extern const char *plh_debug_info_called_malloc(PlhDebugModule *module);
extern void plh_debug_info_close(PlhDebugModule *module);

/* The caller must free() the name. */
extern char *plh_debug_info_demangle(const char *name);
