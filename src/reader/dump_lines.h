/*
 * dump_lines.h
 *	  The lines of a heap file, and the fields in them.
 *
 * Fields are "name=value" between blanks, in the current line.  Whatever is not
 * as it should be is an ERROR that names file and line.  Never called inside
 * palloc.
 */
#ifndef PLH_DUMP_LINES_H
#define PLH_DUMP_LINES_H

#include "datatype/timestamp.h"

/* Live count and bytes, total count and bytes: what the lines for jeprof have. */
#define PLH_LINE_FIGURES 4

/* A file that is being read, line by line. */
typedef struct PlhDumpLines
{
	const char *path;
	char	   *next;			/* start of the next line */
	const char *end;			/* of what was read; a NUL is there */
	char	   *line;			/* this one; ends with NUL instead of newline */
	int			number;			/* of this one, from 1 on */
} PlhDumpLines;

extern PlhDumpLines *plh_dump_lines_open(const char *path, bool header_only);
extern bool plh_dump_lines_next(PlhDumpLines *lines);
extern void plh_dump_lines_need(PlhDumpLines *lines, const char *prefix);
extern void plh_dump_lines_damaged(const PlhDumpLines *lines, const char *format,...)
			pg_attribute_printf(2, 3);

extern char *plh_dump_lines_get_text(const PlhDumpLines *lines, const char *name);
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
