/*
 * text_span.c
 *	  A part of a text that somebody else owns, and how it is read.
 */
#include "postgres.h"

#include "statistics/text_span.h"

/* What is around bold text in Markdown. */
#define BOLD "**"

bool
plh_text_span_skip(PlhTextSpan *span, const char *text)
{
	if (!plh_text_span_begins(*span, text))
		return false;
	*span = plh_text_span_behind(*span, strlen(text));
	return true;
}

bool
plh_text_span_unsigned(PlhTextSpan *span, uint64 *number)
{
	Size		digits = 0;

	*number = 0;
	while (digits < span->bytes && isdigit((unsigned char) span->data[digits]))
	{
		int			digit = span->data[digits++] - '0';

		*number = *number > (PG_UINT64_MAX - digit) / 10 ? PG_UINT64_MAX : *number * 10 + digit;
	}
	*span = plh_text_span_behind(*span, digits);
	return digits > 0;
}

bool
plh_text_span_number(PlhTextSpan *span, int64 *number)
{
	uint64		read;
	bool		has_digits = plh_text_span_unsigned(span, &read);

	*number = (int64) Min(read, (uint64) PG_INT64_MAX);
	return has_digits;
}

ssize_t
plh_text_span_find(PlhTextSpan span, const char *text, Size from)
{
	Size		bytes = strlen(text);
	const char *found = from >= span.bytes ? NULL :
		memmem(span.data + from, span.bytes - from, text, bytes);

	return found == NULL ? -1 : found - span.data;
}

PlhTextSpan
plh_text_span_trim(PlhTextSpan span)
{
	while (span.bytes > 0 && plh_text_span_is_blank(span.data[0]))
		span = plh_text_span_behind(span, 1);
	while (span.bytes > 0 && plh_text_span_is_blank(span.data[span.bytes - 1]))
		span.bytes--;
	return span;
}

PlhTextSpan
plh_text_span_plain(PlhTextSpan span)
{
	(void) plh_text_span_skip(&span, BOLD);
	if (span.bytes >= strlen(BOLD) &&
		plh_text_span_begins(plh_text_span_behind(span, span.bytes - strlen(BOLD)), BOLD))
		span.bytes -= strlen(BOLD);
	return span;
}

/* Is it a byte within a character of UTF-8? */
static bool
is_continuation(char c)
{
	return ((unsigned char) c & 0xC0) == 0x80;
}

/* What a terminal would take for a command is no text. */
static char
printable(char c)
{
	if (c == '\t' || c == '\n' || c == '\r')
		return ' ';
	return (unsigned char) c < ' ' || c == 0x7F ? '?' : c;
}

void
plh_text_span_copy(char *to, Size room, PlhTextSpan span)
{
	Size		bytes = Min(span.bytes, room - 1);

	if (bytes < span.bytes)
		while (bytes > 0 && is_continuation(span.data[bytes]))
			bytes--;
	for (Size i = 0; i < bytes; i++)
		to[i] = printable(span.data[i]);
	to[bytes] = '\0';
}
