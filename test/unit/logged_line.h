/*
 * logged_line.h
 *	  The lines that a tested file writes into the server's log, for the tests to read.
 *
 * To be included before that file: it takes the place of ereport there.  Nothing is
 * thrown.
 */
#ifndef LOGGED_LINE_H
#define LOGGED_LINE_H

/* The last line, and how many there were. */
typedef struct LoggedLine
{
	int			count;
	int			level;
	char		message[1024];
	char		detail[4096];
	char		hint[1024];
} LoggedLine;

extern LoggedLine logged_line;

extern int	logged_line_begin(int level);
extern int	logged_message(const char *format,...) pg_attribute_printf(1, 2);
extern int	logged_detail(const char *format,...) pg_attribute_printf(1, 2);
extern int	logged_hint(const char *format,...) pg_attribute_printf(1, 2);

#undef ereport
#define ereport(level, ...) ((void) logged_line_begin(level), (void) (__VA_ARGS__))
#define errmsg logged_message
#define errmsg_internal logged_message
#define errmsg_plural(one, several, n, ...) logged_message((n) == 1 ? (one) : (several), __VA_ARGS__)
#define errdetail logged_detail
#define errdetail_internal logged_detail
#define errdetail_plural(one, several, n, ...) logged_detail((n) == 1 ? (one) : (several), __VA_ARGS__)
#define errhint logged_hint
#define errhidestmt(hidden) 0
#define errcode_for_file_access() 0

#endif							/* LOGGED_LINE_H */
