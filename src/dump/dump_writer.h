/*
 * dump_writer.h
 *	  The text of a dump file.
 *
 * This code is also called while a process exits, and inside palloc: it never
 * pallocs or throws, and reports nothing.
 */
#ifndef PLH_DUMP_WRITER_H
#define PLH_DUMP_WRITER_H

#include "profile/baseline.h"
#include "profile/profile_image.h"

/* A dump consists of the profile and of these extras. */
typedef struct PlhDumpExtras
{
	const char *reason;			/* exit, crash, manual or growth */
	const PlhBaseline *baseline;	/* NULL: growth is not known */
	const char *symbols_for_jeprof; /* section before all else; NULL: none */
	const char *symbols;		/* "#" lines; NULL: none */
} PlhDumpExtras;

extern int	plh_dump_writer_write(int fd, const PlhProfileImage *image,
								  const PlhDumpExtras *extras,
								  uint32 *live_sites);

#endif							/* PLH_DUMP_WRITER_H */
