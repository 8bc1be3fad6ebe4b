/*
 * dump_reader.h
 *	  Turns a dump into an image again, so that every report of a profile is
 *	  one of a dump, too.
 *
 * A dump may have been written by anybody: a line that does not make sense is
 * an ERROR that names it.  Never called inside palloc.
 */
#ifndef PLH_DUMP_READER_H
#define PLH_DUMP_READER_H

#include "profile/baseline.h"
#include "profile/profile_image.h"

typedef struct PlhDump
{
	PlhProfileImage *image;		/* without records, if header_only */
	PlhBaseline *baseline;		/* NULL if the process had none */
	const char *reason;			/* exit, crash, manual or growth */
	TimestampTz written_at;
} PlhDump;

/*
 * The dump, and all that it points to, belongs to the current memory context.
 * "path" must live as long.
 */
extern PlhDump *plh_dump_reader_read(const char *path, bool header_only);

#endif							/* PLH_DUMP_READER_H */
