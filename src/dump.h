/*
 * dump.h
 *	  Heap files: a profile as text that outlives its process.
 *
 * plh_dump_write is also called while a process exits, where an ERROR would
 * be FATAL: it allocates nothing and reports failures as WARNINGs.
 */
#ifndef PLH_DUMP_H
#define PLH_DUMP_H

#include "profile_reader.h"

typedef struct PlhDumpResult
{
	char		path[MAXPGPATH + 64];
	uint32		sites;			/* with live bytes or objects */
} PlhDumpResult;

extern bool plh_dump_write(const PlhProfileImage *image, const char *reason,
						   PlhDumpResult *result);

#endif							/* PLH_DUMP_H */
