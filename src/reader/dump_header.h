/*
 * dump_header.h
 *	  The first lines of a dump: the sums of line 1, and the process.
 *
 * All errors are those of dump_lines.h.  Never called inside palloc.
 */
#ifndef PLH_DUMP_HEADER_H
#define PLH_DUMP_HEADER_H

#include "profile/profile_layout.h"
#include "reader/dump_lines.h"

/* What a dump says of itself. */
typedef struct PlhDumpHeader
{
	int64		figures[PLH_LINE_FIGURES];	/* sums of all sites */
	int64		file_bytes;
	char	   *reason;			/* exit, crash, manual or growth */
	TimestampTz written_at;
} PlhDumpHeader;

extern void plh_dump_header_parse(PlhDumpLines *lines, PlhDumpHeader *dump,
								  PlhProfileHeader *header);

/* To be called at the end of the dump, with the sums of its sites. */
extern void plh_dump_header_check(PlhDumpLines *lines,
								  const PlhDumpHeader *dump,
								  const int64 *sums);

#endif							/* PLH_DUMP_HEADER_H */
