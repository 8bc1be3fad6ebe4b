/*
 * dump_reader.h
 *	  Reads a dump into an image, so that every report of a profile is one of a dump, too.
 *
 * A dump may have been written by anybody: one that does not make sense is an ERROR.  Never called
 * inside palloc.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"

typedef struct PlhDump
{
	PlhProfileImage *image;		/* without records, if header_only */
	PlhBaseline *baseline;		/* NULL if the process had none */
	const char *reason;			/* exit, crash, manual, growth or limit */
	TimestampTz written_at;
	const char *bytes;			/* of the file; NULL if header_only */
	Size		byte_count;
} PlhDump;

/* All of it is in the current memory context.  With "header_only" the rest may be damaged. */
extern PlhDump *plh_dump_reader_read(const char *path, bool header_only);
