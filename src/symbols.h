/*
 * symbols.h
 *	  From an address in a module to the name of the function there.
 *
 * Only ever called by a session that reads a report, never inside palloc.
 * "No symbol" is an answer (NULL), not an error; a name is only ever that of
 * the function whose code the address is in.
 */
#ifndef PLH_SYMBOLS_H
#define PLH_SYMBOLS_H

#include "profile_layout.h"

typedef struct PlhSymbols PlhSymbols;

extern PlhSymbols *plh_symbols_open(void);
extern const char *plh_symbols_function(PlhSymbols *symbols,
										const PlhModuleRecord *module,
										uint64 address);

#endif							/* PLH_SYMBOLS_H */
