/*
 * symbolizer.h
 *	  A process that reads binaries and debug files for a session.
 *
 * Debug files can be large, slow to come, or broken.  Read by a process of its
 * own, they cost the session neither memory nor its life, and a query that
 * waits for them can be cancelled.
 *
 * Never called inside palloc.  Errors of the symbolizer are answers; only an
 * interrupt of the session is thrown.
 */
#ifndef PLH_SYMBOLIZER_H
#define PLH_SYMBOLIZER_H

#include "profile/profile_layout.h"
#include "symbols/symbol_protocol.h"

typedef struct PlhSymbolizer PlhSymbolizer;

extern PlhSymbolizer *plh_symbolizer_open(void);
extern void plh_symbolizer_ask(PlhSymbolizer *symbolizer,
							   const PlhModuleRecord *module, uint64 address,
							   PlhSymbolAnswer *answer);

#endif							/* PLH_SYMBOLIZER_H */
