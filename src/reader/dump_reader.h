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

/* How much of a dump is read. */
typedef enum PlhDumpPart
{
	PLH_DUMP_SITES,				/* all that it says */
	PLH_DUMP_HEADER,			/* what is known of the process and what it
								 * held in all */
	PLH_DUMP_TEXT				/* all that it says, and the bytes of the file */
} PlhDumpPart;

typedef struct PlhDump
{
	PlhProfileImage *image;		/* without records, if PLH_DUMP_HEADER */
	PlhBaseline *baseline;		/* NULL if the process had none */
	const char *reason;			/* exit, crash, manual or growth */
	TimestampTz written_at;
	const char *text;			/* the file; NULL, but for PLH_DUMP_TEXT */
	Size		text_bytes;
} PlhDump;

/*
 * The dump, and all that it points to, belongs to the current memory context.
 * "path" must live as long.
 */
extern PlhDump *plh_dump_reader_read(const char *path, PlhDumpPart part);

#endif							/* PLH_DUMP_READER_H */
