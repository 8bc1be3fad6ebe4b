/*
 * dump.h
 *	  Writes a dump file and gives it its name.
 *
 * plh_dump_write is also called while a process exits, and inside palloc: it
 * allocates nothing and reports nothing.
 */
#ifndef PLH_DUMP_H
#define PLH_DUMP_H

#include "base/limits.h"
#include "dump/dump_writer.h"

typedef struct PlhDumpResult
{
	char		path[PLH_PATH_MAX];
	uint32		sites;			/* number of those with live chunks */
	int			failure;		/* errno if it was not written; else 0 */
	int			removal_failure;	/* errno of removing old dumps, or 0 */
} PlhDumpResult;

extern bool plh_dump_write(const PlhProfileImage *image,
						   const PlhDumpExtras *extras, bool sync,
						   PlhDumpResult *result);
extern bool plh_dump_is_worth_while(const PlhProfileHeader *header);
extern bool plh_dump_is_worth_while_after_crash(const PlhProfileHeader *header);
extern void plh_dump_forget(void);

#endif							/* PLH_DUMP_H */
