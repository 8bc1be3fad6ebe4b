/*
 * dump_symbols.h
 *	  The symbols of a dump, so that it can be read where its binaries are not.
 *
 * Never called inside palloc.
 */
#ifndef PLH_DUMP_SYMBOLS_H
#define PLH_DUMP_SYMBOLS_H

#include "dump/dump_writer.h"
#include "symbols/symbols.h"

extern void plh_dump_symbols_make(PlhSymbols *symbols,
								  const PlhProfileImage *image,
								  PlhDumpExtras *extras);

#endif							/* PLH_DUMP_SYMBOLS_H */
