/*
 * dump_copy.h
 *	  Writes a dump: the profile as it is, and its trailer.
 *
 * Also called inside palloc, but not in a critical section, and at exit: it allocates nothing and
 * reports nothing.
 */
#pragma once

#include "base/limits.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"

/* What a dump has beside the profile, and how it is written. */
typedef struct PlhDumpExtras
{
	const char *reason;			/* exit, crash, manual, growth or limit */
	const PlhBaseline *baseline;	/* NULL: growth is not known */
	const void *names;			/* of functions: PlhFrameName; or NULL */
	Size		names_bytes;
	bool		sync;			/* wait for the disk */
	const char *replaces;		/* path of a dump that it replaces, or NULL */
} PlhDumpExtras;

typedef struct PlhDumpResult
{
	char		path[PLH_PATH_MAX];
	int			sequence;		/* the number in its name, if it was written */
	int			failure;		/* errno if it was not written; else 0 */
} PlhDumpResult;

extern bool plh_dump_copy_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
								PlhDumpResult *result);
extern void plh_dump_copy_forget(void);
