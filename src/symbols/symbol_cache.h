/*
 * symbol_cache.h
 *	  What this session has learned about addresses, kept until it ends.
 *
 * Lies in memory of its own, which no memory context counts, and is emptied
 * when it is full.  Never called inside palloc.
 */
#ifndef PLH_SYMBOL_CACHE_H
#define PLH_SYMBOL_CACHE_H

#include "profile/profile_layout.h"
#include "symbols/symbol_protocol.h"

extern const PlhSymbolAnswer *plh_symbol_cache_find(const PlhModuleRecord *module,
													uint64 address);
extern void plh_symbol_cache_add(const PlhModuleRecord *module,
								 uint64 address,
								 const PlhSymbolAnswer *answer);

#endif							/* PLH_SYMBOL_CACHE_H */
