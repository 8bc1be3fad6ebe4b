/*
 * dump_lines.h
 *	  Reads a dump line by line, and the fields in its lines.
 *
 * A field is "name=value", between blanks, in the current line.  Every
 * departure from the format is an ERROR that names the file and the line.
 * Never called inside palloc.
 */
#ifndef PLH_DUMP_LINES_H
#define PLH_DUMP_LINES_H

#include "datatype/timestamp.h"

/*
 * Figures of a site, as jeprof reads them: live count, bytes; total count,
 * bytes.
 */
#define PLH_LINE_FIGURES 4

/* A dump in memory, and the line of it that is read now. */
typedef struct PlhDumpLines
{
	const char *path;			/* of the dump; the caller's */
	char	   *start;			/* of the text */
	char	   *next;			/* start of the next line */
	const char *end;			/* end of the text, where a NUL stands */
	Size		file_bytes;		/* of which the text may be the start only */
	char	   *line;			/* current line, with NUL instead of newline */
	int			number;			/* of the current line, from 1 on */
} PlhDumpLines;

/*
 * The lines belong to the memory context in which they were opened; "path"
 * must live as long.  There is no current line before the first next or need.
 */
extern PlhDumpLines *plh_dump_lines_open(const char *path, bool header_only);
extern bool plh_dump_lines_next(PlhDumpLines *lines);
extern void plh_dump_lines_need(PlhDumpLines *lines, const char *prefix);
extern const char *plh_dump_lines_restore(PlhDumpLines *lines, Size *bytes);

/* Never returns. */
extern void plh_dump_lines_damaged(const PlhDumpLines *lines, const char *format,...)
			pg_attribute_printf(2, 3);

/*
 * Only get_text and get_count accept that a field is missing: they return NULL,
 * and "usual".
 */
extern char *plh_dump_lines_get_text(const PlhDumpLines *lines, const char *name);
extern int64 plh_dump_lines_get_count(const PlhDumpLines *lines, const char *name,
									  int64 usual);
extern char *plh_dump_lines_text(const PlhDumpLines *lines, const char *name);
extern int64 plh_dump_lines_number(const PlhDumpLines *lines, const char *name,
								   int64 low, int64 high);
extern int64 plh_dump_lines_count(const PlhDumpLines *lines, const char *name);
extern int64 plh_dump_lines_int64(const PlhDumpLines *lines, const char *name);
extern uint32 plh_dump_lines_uint32(const PlhDumpLines *lines, const char *name);
extern double plh_dump_lines_real(const PlhDumpLines *lines, const char *name);
extern TimestampTz plh_dump_lines_time(const PlhDumpLines *lines, const char *name);
extern int	plh_dump_lines_bytes(const PlhDumpLines *lines, const char *name,
								 unsigned char *bytes, int room);
extern const char *plh_dump_lines_figures(const char *text, int64 *figures);

#endif							/* PLH_DUMP_LINES_H */
