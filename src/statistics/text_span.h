/*
 * text_span.h
 *	  A part of a text that somebody else owns, and how it is read.
 *
 * Nothing here allocates or throws, and no byte outside of a span is read.
 */
#pragma once

typedef struct PlhTextSpan
{
	const char *data;
	Size		bytes;
} PlhTextSpan;

static inline PlhTextSpan
plh_text_span_of(const char *text)
{
	return (PlhTextSpan)
	{
		text, strlen(text)
	};
}

/* What is behind the first bytes. */
static inline PlhTextSpan
plh_text_span_behind(PlhTextSpan span, Size bytes)
{
	return (PlhTextSpan)
	{
		span.data + bytes, span.bytes - bytes
	};
}

static inline PlhTextSpan
plh_text_span_first(PlhTextSpan span, Size bytes)
{
	return (PlhTextSpan)
	{
		span.data, Min(bytes, span.bytes)
	};
}

static inline bool
plh_text_span_is(PlhTextSpan span, const char *text)
{
	return span.bytes == strlen(text) &&
		(span.bytes == 0 || memcmp(span.data, text, span.bytes) == 0);
}

static inline bool
plh_text_span_begins(PlhTextSpan span, const char *text)
{
	Size		bytes = strlen(text);

	return span.bytes >= bytes && memcmp(span.data, text, bytes) == 0;
}

static inline bool
plh_text_span_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Skip a text if the span begins with it. */
extern bool plh_text_span_skip(PlhTextSpan *span, const char *text);

/* Skip digits that are a number, of PG_INT64_MAX at most.  False: there are none. */
extern bool plh_text_span_number(PlhTextSpan *span, int64 *number);

/* The same of a number of 64 bits without a sign: at most PG_UINT64_MAX. */
extern bool plh_text_span_unsigned(PlhTextSpan *span, uint64 *number);

/* Where a text begins in it, from a position on; -1 if it does not occur. */
extern ssize_t plh_text_span_find(PlhTextSpan span, const char *text, Size from);

/* Without blanks at both ends. */
extern PlhTextSpan plh_text_span_trim(PlhTextSpan span);

/* Without what makes it bold in an issue. */
extern PlhTextSpan plh_text_span_plain(PlhTextSpan span);

/*
 * Copy it, cut to the room and without half a character of UTF-8; a NUL ends it.  Control
 * characters become '?', and those of white space blanks.
 */
extern void plh_text_span_copy(char *to, Size room, PlhTextSpan span);
