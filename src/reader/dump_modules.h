/*
 * dump_modules.h
 *	  The modules in a dump, and the addresses that lie in them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_DUMP_MODULES_H
#define PLH_DUMP_MODULES_H

#include "profile/profile_image.h"
#include "profile/profile_layout.h"
#include "reader/dump_lines.h"
#include "reader/profile_builder.h"

/* Where the modules lay; the first has index 1. */
typedef struct PlhDumpModules
{
	uint32		count;
	uint64		bases[PLH_IMAGE_MODULES];
} PlhDumpModules;

extern void plh_dump_modules_parse(PlhDumpModules *modules,
								   PlhDumpLines *lines,
								   PlhProfileBuilder *profile);

/* Module 0 has the addresses that lie in none. */
extern PlhFrame plh_dump_modules_frame(const PlhDumpModules *modules,
									   uint64 address);

#endif							/* PLH_DUMP_MODULES_H */
