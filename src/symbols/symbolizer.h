/*
 * symbolizer.h
 *	  The session's side of a process that reads binaries and debug files.
 *
 * Debug files can be large, slow to arrive, or broken.  Since another process reads them, they cost
 * the session neither memory nor its life, and a statement that waits for them can be cancelled.
 *
 * Never called inside palloc.  Failures of the symbolizer are answers; only interrupts of the
 * session are thrown.
 */
#pragma once

#include "profile/profile_layout.h"
#include "symbols/debug_info.h"
#include "symbols/symbol_protocol.h"

typedef struct PlhSymbolizer PlhSymbolizer;

/* The symbolizer belongs to the current memory context, and its process ends with it. */
extern PlhSymbolizer *plh_symbolizer_open(void);
extern void plh_symbolizer_limit(PlhSymbolizer *symbolizer, bool (*must_stop) (void));

/* "answer" is always set, and sound. */
extern void plh_symbolizer_ask(PlhSymbolizer *symbolizer, const PlhModuleRecord *module,
							   uint64 address, PlhSymbolAnswer *answer);

/* The same in parts, for who does not wait: one question, then its answer. */
extern PlhModuleStatus plh_symbolizer_send(PlhSymbolizer *symbolizer, const PlhModuleRecord *module,
										   uint64 address);
extern bool plh_symbolizer_is_ready(PlhSymbolizer *symbolizer, int wait_ms);
extern void plh_symbolizer_take(PlhSymbolizer *symbolizer, PlhSymbolAnswer *answer);
