/*
 * logged_line.c
 *	  The lines that a tested file writes into the server's log, for the tests to read.
 */
#include "postgres.h"

#include "logged_line.h"

LoggedLine	logged_line;

int
logged_line_begin(int level)
{
	int			count = logged_line.count;

	memset(&logged_line, 0, sizeof(logged_line));
	logged_line.count = count + 1;
	logged_line.level = level;
	return level;
}

#define DEFINE_PART(part) \
int \
logged_##part(const char *format,...) \
{ \
	va_list		arguments; \
\
	va_start(arguments, format); \
	vsnprintf(logged_line.part, sizeof(logged_line.part), format, arguments); \
	va_end(arguments); \
	return 0; \
}

DEFINE_PART(message)
DEFINE_PART(detail)
DEFINE_PART(hint)
