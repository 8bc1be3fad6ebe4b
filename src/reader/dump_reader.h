/*
 * dump_reader.h
 *	  Heap files become profiles again, for all that shows profiles.
 *
 * What is in a file may be anything: what does not make sense is an ERROR that
 * names the line.  Never called inside palloc.
 */
#ifndef PLH_DUMP_READER_H
#define PLH_DUMP_READER_H

#include "profile/baseline.h"
#include "profile/profile_image.h"

typedef struct PlhDump
{
	PlhProfileImage *image;		/* header only, if that was asked for */
	PlhBaseline *baseline;		/* NULL: growth was not counted */
	const char *reason;			/* exit, crash, manual or growth */
	TimestampTz written_at;
} PlhDump;

extern PlhDump *plh_dump_reader_read(const char *path, bool header_only);

#endif							/* PLH_DUMP_READER_H */
