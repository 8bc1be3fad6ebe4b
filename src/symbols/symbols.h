/*
 * symbols.h
 *	  From an address in a module to the functions, files and lines there.
 *
 * Only ever called by a session that reads a report, never inside palloc.
 * "No symbol" is an answer, not an error; a name is only ever that of a
 * function whose code the address is in.
 */
#ifndef PLH_SYMBOLS_H
#define PLH_SYMBOLS_H

#include "profile/profile_layout.h"
#include "symbols/debug_info.h"

typedef struct PlhSymbols PlhSymbols;

/* What is known about an address. */
typedef struct PlhSymbolFrames
{
	PlhModuleStatus status;
	int			count;			/* 0: no function is known for sure */
	PlhSourceFrame frames[PLH_MAX_INLINED]; /* innermost first */
} PlhSymbolFrames;

/* What is known about a module. */
typedef struct PlhSymbolModule
{
	PlhModuleStatus status;
	PlhSymbolSource source;
	const char *file;			/* that has it; NULL if none */
} PlhSymbolModule;

extern PlhSymbols *plh_symbols_open(void);
extern void plh_symbols_lookup(PlhSymbols *symbols,
							   const PlhModuleRecord *module, uint64 address,
							   PlhSymbolFrames *found);
extern void plh_symbols_module(PlhSymbols *symbols,
							   const PlhModuleRecord *module,
							   PlhSymbolModule *found);
extern const char *plh_symbols_source_name(PlhSymbolSource source);
extern const char *plh_symbols_status_word(PlhModuleStatus status);

#endif							/* PLH_SYMBOLS_H */
