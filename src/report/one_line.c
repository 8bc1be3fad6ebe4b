/*
 * one_line.c
 *	  A text in one line.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "report/one_line.h"

char *
plh_one_line(const char *text, int columns)
{
	StringInfoData line;
	int			bytes;

	initStringInfo(&line);
	for (text += strspn(text, " \t\r\n"); *text != '\0'; text++)
	{
		if (strchr(" \t\r\n", *text) == NULL)
			appendStringInfoChar(&line, *text);
		else if (line.data[line.len - 1] != ' ')
			appendStringInfoChar(&line, ' ');
	}
	while (line.len > 0 && line.data[line.len - 1] == ' ')
		line.data[--line.len] = '\0';
	bytes = pg_mbcharcliplen(line.data, line.len, columns);
	if (bytes < line.len)
	{
		line.data[bytes] = '\0';
		return psprintf("%s ...", line.data);
	}
	return line.data;
}
