/*
 * symbol_cache.h
 *	  Keeps the answers that a session has got about addresses, until it ends.
 *
 * The cache lies in memory of its own, which no memory context counts, and is emptied when it is
 * full.  Never called inside palloc; never throws.
 */
#pragma once

#include "profile/profile_layout.h"
#include "symbols/symbol_protocol.h"

/* Returns NULL without an answer.  The answer is valid until the next addition. */
extern const PlhSymbolAnswer *plh_symbol_cache_find(const PlhModuleRecord *module, uint64 address);

/* The cache copies the answer.  It must not have one about this address. */
extern void plh_symbol_cache_add(const PlhModuleRecord *module, uint64 address,
								 const PlhSymbolAnswer *answer);
