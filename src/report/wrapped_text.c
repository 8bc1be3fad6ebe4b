/*
 * wrapped_text.c
 *	  Prose for people: lines that fit a terminal, and times in words.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "report/wrapped_text.h"

/* What a line that goes on begins with. */
#define INDENT "    "

/* The characters of a text of so many bytes. */
static int
columns_of(const char *text, int bytes)
{
	return pg_mbstrlen_with_len(text, bytes);
}

/*
 * Append a paragraph, which has no line ends, as lines; the first begins a new
 * one, and the others are indented.
 */
void
plh_wrapped_text_append(StringInfo text, const char *paragraph)
{
	int			column = 0;

	if (text->len > 0)
		appendStringInfoChar(text, '\n');
	while (*paragraph != '\0')
	{
		int			bytes = strcspn(paragraph, " ");
		int			columns = columns_of(paragraph, bytes);

		if (column > 0 && column + 1 + columns > PLH_WRAPPED_COLUMNS)
		{
			appendStringInfoString(text, "\n" INDENT);
			column = strlen(INDENT);
		}
		else if (column > 0)
		{
			appendStringInfoChar(text, ' ');
			column++;
		}
		appendBinaryStringInfo(text, paragraph, bytes);
		column += columns;
		paragraph += bytes;
		paragraph += strspn(paragraph, " ");
	}
}

/*
 * The time that has passed, in the largest unit of which there are two.
 */
char *
plh_wrapped_text_duration(TimestampTz from, TimestampTz to)
{
	int64		seconds = to > from ?
		(to - from + USECS_PER_SEC / 2) / USECS_PER_SEC : 0;
	int64		minutes = seconds / SECS_PER_MINUTE;
	int64		hours = minutes / MINS_PER_HOUR;

	if (minutes < 2)
		return psprintf(INT64_FORMAT " s", seconds);
	if (hours < 2)
		return psprintf(INT64_FORMAT " min", minutes);
	if (hours < 2 * HOURS_PER_DAY)
		return psprintf(INT64_FORMAT " h", hours);
	return psprintf(INT64_FORMAT " days", hours / HOURS_PER_DAY);
}

/*
 * A time to the second, in the session's time zone.
 */
char *
plh_wrapped_text_time(TimestampTz time)
{
	return pstrdup(timestamptz_to_str(time - time % USECS_PER_SEC));
}

/*
 * A text, such as that of a statement, in one line of so many characters at most,
 * with its white space as single blanks.
 */
char *
plh_wrapped_text_one_line(const char *text, int columns)
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
