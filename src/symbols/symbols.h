/*
 * symbols.h
 *	  Looks up the functions, files and lines at an address of a module.
 *
 * "No symbol" is an answer, not an error, and a function is named only if the address lies in its
 * code.  Called by sessions that read a report, never inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "profile/profile_layout.h"
#include "symbols/debug_info.h"

typedef struct PlhSymbols PlhSymbols;

/* The functions that an address is in. */
typedef struct PlhSymbolFrames
{
	PlhModuleStatus status;
	int			count;			/* 0 if no function is known for sure */
	PlhSourceFrame frames[PLH_MAX_INLINED]; /* innermost first */
} PlhSymbolFrames;

/* The source of symbols that a module has. */
typedef struct PlhSymbolModule
{
	PlhModuleStatus status;
	PlhSymbolSource source;
	const char *file;			/* path of the file with the source, or NULL */
} PlhSymbolModule;

/* In the current memory context.  Texts that a look-up returns are valid until the next one. */
extern PlhSymbols *plh_symbols_open(void);

/* For who can't wait; to be closed, unless there is an ERROR. */
extern PlhSymbols *plh_symbols_open_in_passing(int64 until_us);
extern int	plh_symbols_left_out(const PlhSymbols *symbols);
extern void plh_symbols_close(PlhSymbols *symbols);

/* For callers that can't be interrupted: once "must_stop" says so, nothing new is looked up. */
extern PlhSymbols *plh_symbols_open_until(bool (*must_stop) (void));
extern void plh_symbols_lookup(PlhSymbols *symbols, const PlhModuleRecord *module, uint64 address,
							   PlhSymbolFrames *found);
extern void plh_symbols_module(PlhSymbols *symbols, const PlhModuleRecord *module,
							   PlhSymbolModule *found);

/* Does a file of code, whatever version of it, call malloc of another one? */
extern bool plh_symbols_calls_malloc(PlhSymbols *symbols, const char *path);

/* The names of the binaries that it is linked to, as it has them: a List of char *. */
extern List *plh_symbols_linked_to(PlhSymbols *symbols, const char *path);

/* The texts are constants. */
extern const char *plh_symbols_source_name(PlhSymbolSource source);
extern const char *plh_symbols_status_word(PlhModuleStatus status);
