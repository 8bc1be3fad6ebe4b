/*
 * wrapped_text.c
 *	  A text in lines of a width, as psql's columns take them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "profile/statement_tokens.h"
#include "report/wrapped_text.h"

/* psql shows a character that has no width by an escape, such as \u200B; a tab takes most. */
#define ESCAPE_COLUMNS 8

/* What stands at the end of a text that was cut. */
#define DOTS " ..."

/* Behind these a word may be broken. */
#define JOINTS "_-./,:;(@="

/* The lines so far. */
typedef struct Wrapping
{
	StringInfoData text;
	int			columns;		/* that a line may have */
	int			most_lines;		/* 0: no limit */
	int			lines;
	int			start;			/* where the last one begins */
	int			width;			/* of the last one */
	bool		is_cut;
} Wrapping;

/* The bytes of the character there. */
static Size
char_bytes(const char *c)
{
	return strnlen(c, pg_encoding_mblen(GetDatabaseEncoding(), c));
}

static int
char_columns(const char *c)
{
	int			columns = pg_encoding_dsplen(GetDatabaseEncoding(), c);

	return columns >= 0 ? columns : ESCAPE_COLUMNS;
}

/* How many bytes at the beginning of a text fit into a width; sets what they take of it. */
static Size
fitting(const char *text, Size bytes, int columns, int *width)
{
	Size		fit = 0;

	*width = 0;
	while (fit < bytes && *width + char_columns(text + fit) <= columns)
	{
		*width += char_columns(text + fit);
		fit += char_bytes(text + fit);
	}
	return Min(fit, bytes);
}

/* End the last line with dots, for which it may have to become shorter. */
static void
cut(Wrapping *wrapping)
{
	StringInfo	text = &wrapping->text;
	const char *line = text->data + wrapping->start;
	int			width;

	text->len = wrapping->start + fitting(line, text->len - wrapping->start,
										  wrapping->columns - (int) strlen(DOTS), &width);
	while (text->len > wrapping->start && text->data[text->len - 1] == ' ')
		text->len--;
	text->data[text->len] = '\0';
	appendStringInfoString(text, DOTS);
	wrapping->is_cut = true;
}

static void
begin_line(Wrapping *wrapping)
{
	if (wrapping->lines == wrapping->most_lines)
		cut(wrapping);
	else
	{
		appendStringInfoChar(&wrapping->text, '\n');
		wrapping->start = wrapping->text.len;
		wrapping->width = 0;
		wrapping->lines++;
	}
}

/* Where a word that is longer than a line is broken: behind its last joint, if not too early. */
static Size
break_of(const char *word, Size fit)
{
	for (Size length = fit; length > fit / 2; length--)
		if (strchr(JOINTS, word[length - 1]) != NULL)
			return length;
	return fit;
}

/* Put a word that is longer than a line, whose last part is as any other word. */
static Size
put_pieces(Wrapping *wrapping, const char *word, Size bytes)
{
	Size		put = 0;
	int			width;

	for (;;)
	{
		Size		fit = fitting(word + put, bytes - put, wrapping->columns, &width);

		if (put + fit == bytes || wrapping->is_cut)
			return put;
		fit = Max(break_of(word + put, fit), char_bytes(word + put));
		appendBinaryStringInfo(&wrapping->text, word + put, fit);
		put += fit;
		begin_line(wrapping);
	}
}

static void
put_word(Wrapping *wrapping, const char *word, Size bytes)
{
	int			width;
	bool		fits_a_line = fitting(word, bytes, wrapping->columns, &width) == bytes;
	Size		put = 0;

	if (wrapping->width > 0 && (!fits_a_line || wrapping->width + 1 + width > wrapping->columns))
		begin_line(wrapping);
	if (!fits_a_line && !wrapping->is_cut)
		put = put_pieces(wrapping, word, bytes);
	if (wrapping->is_cut)
		return;
	fitting(word + put, bytes - put, wrapping->columns, &width);
	if (wrapping->width > 0)
		appendStringInfoChar(&wrapping->text, ' ');
	wrapping->width += (wrapping->width > 0) + width;
	appendBinaryStringInfo(&wrapping->text, word + put, bytes - put);
}

char *
plh_wrapped_text(const char *text, int columns, int most_lines)
{
	Wrapping	wrapping = {.columns = columns,.most_lines = most_lines,.lines = 1};

	initStringInfo(&wrapping.text);
	while (!wrapping.is_cut && *(text += strspn(text, " \t\r")) != '\0')
	{
		Size		bytes = strcspn(text, " \t\r\n");

		if (bytes == 0)
		{
			begin_line(&wrapping);
			text++;
			continue;
		}
		put_word(&wrapping, text, bytes);
		text += bytes;
	}
	return wrapping.text.data;
}

/* Put what has no blank between tokens, and the blanks before it, of which a line break is kept. */
static void
put_tokens(Wrapping *wrapping, const char *blanks, const char *tokens, const char *end)
{
	const char *line;
	int			width;
	int			gap;

	fitting(tokens, Min(end - tokens, strcspn(tokens, "\n")), INT_MAX, &width);
	fitting(blanks, tokens - blanks, INT_MAX, &gap);
	if (wrapping->width > 0 && memchr(blanks, '\n', tokens - blanks) == NULL &&
		wrapping->width + gap + width > wrapping->columns)
	{
		begin_line(wrapping);
		blanks = tokens;
	}
	appendBinaryStringInfo(&wrapping->text, blanks, end - blanks);
	line = strrchr(wrapping->text.data, '\n');
	line = line == NULL ? wrapping->text.data : line + 1;
	fitting(line, strlen(line), INT_MAX, &wrapping->width);
}

char *
plh_wrapped_text_statement(const char *text, int columns)
{
	Wrapping	wrapping = {.columns = columns,.lines = 1};
	const char *end = text + strlen(text);
	const char *blanks = text;

	initStringInfo(&wrapping.text);
	while (blanks < end)
	{
		PlhToken	token = plh_statement_tokens_read(blanks, end);
		const char *tokens = token.kind == PLH_TOKEN_BLANK ? token.end : blanks;
		const char *at = tokens;

		/* where it is not certain what is a literal, the rest stays as it is */
		while (at < end && (token = plh_statement_tokens_read(at, end)).kind != PLH_TOKEN_BLANK)
			at = token.is_whole ? token.end : end;
		put_tokens(&wrapping, blanks, tokens, at);
		blanks = at;
	}
	return wrapping.text.data;
}
