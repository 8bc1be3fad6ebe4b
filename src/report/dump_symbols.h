/*
 * dump_symbols.h
 *	  Makes the names that a dump brings along, to be read where its modules are not installed.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/dump_copy.h"
#include "symbols/symbols.h"

/* Looks up each frame once, for the names of "extras"; palloc'd in the current memory context. */
extern void plh_dump_symbols_make(PlhSymbols *symbols, const PlhProfileImage *image,
								  PlhDumpExtras *extras);
