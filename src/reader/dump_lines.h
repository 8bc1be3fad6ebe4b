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

/* A file that is being read, line by line. */
typedef struct PlhLines
{
	const char *path;
	char	   *next;			/* start of the next line */
	const char *end;			/* of what was read; a NUL is there */
	char	   *line;			/* this one; ends with NUL instead of newline */
	int			number;			/* of this one, from 1 on */
} PlhLines;

extern PlhLines *plh_lines_open(const char *path, bool header_only);
extern bool plh_lines_next(PlhLines *lines);
extern void plh_lines_need(PlhLines *lines, const char *prefix);
extern void plh_lines_damaged(const PlhLines *lines, const char *format,...)
			pg_attribute_printf(2, 3);

extern char *plh_lines_get_text(const PlhLines *lines, const char *name);
extern char *plh_lines_text(const PlhLines *lines, const char *name);
extern int64 plh_lines_number(const PlhLines *lines, const char *name,
							  int64 low, int64 high);
extern int64 plh_lines_count(const PlhLines *lines, const char *name);
extern int64 plh_lines_int64(const PlhLines *lines, const char *name);
extern uint32 plh_lines_uint32(const PlhLines *lines, const char *name);
extern double plh_lines_real(const PlhLines *lines, const char *name);
extern TimestampTz plh_lines_time(const PlhLines *lines, const char *name);
extern int	plh_lines_bytes(const PlhLines *lines, const char *name,
							unsigned char *bytes, int room);
extern const char *plh_lines_figures(const char *text, int64 *figures);

#endif							/* PLH_DUMP_LINES_H */
