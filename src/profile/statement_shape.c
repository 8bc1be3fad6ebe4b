/*
 * statement_shape.c
 *	  What tells statements apart where core computes no query id: texts without literals.
 *
 * This code runs inside palloc, where nothing can be parsed.  So this is a guess by the bytes, as
 * scan.l would see them: numbers and strings become one mark, and so do several of them in a list;
 * comments and blanks become one blank.  Where the guess is wrong, two statements are taken for
 * one, or one for two.  Bytes of characters outside of ASCII have their high bit set in all
 * encodings of a server.
 */
#include "postgres.h"

#include "profile/statement_shape.h"
#include "profile/statement_tokens.h"

#define LITERAL_MARK '?'

/* A text that is read, and the shape that is made of it. */
typedef struct Reading
{
	const char *at;
	const char *end;
	char	   *shape;			/* its first byte */
	char	   *to;				/* the end of what is made of it */
	char	   *literal_end;	/* the end of its last literal */
	bool		in_list;		/* since it, nothing but PLH_BYTE_IN_LIST */
	bool		after_operand;	/* so that a sign is an operator */
} Reading;

static inline bool
is_next(const Reading *reading, char first, char second)
{
	return reading->end - reading->at >= 2 && reading->at[0] == first && reading->at[1] == second;
}

static inline void
put(Reading *reading, char c)
{
	*reading->to++ = c;
}

/* A literal that follows another in a list is the same one. */
static void
put_literal(Reading *reading)
{
	if (reading->in_list)
		reading->to = reading->literal_end;
	else
		put(reading, LITERAL_MARK);
	reading->literal_end = reading->to;
	reading->in_list = true;
	reading->after_operand = true;
}

static void
put_blank(Reading *reading)
{
	if (reading->to > reading->shape && reading->to[-1] != ' ')
		put(reading, ' ');
}

/* Read a string.  A doubled quote ends one and begins the next, which comes to the same. */
static void
read_string(Reading *reading, bool has_escapes)
{
	reading->at++;
	while (reading->at < reading->end && *reading->at != '\'')
		reading->at += has_escapes && *reading->at == '\\' &&
			reading->end - reading->at > 1 ? 2 : 1;
	if (reading->at < reading->end)
		reading->at++;
	put_literal(reading);
}

static void
read_number(Reading *reading)
{
	char		last;

	do
	{
		last = *reading->at++;
		if ((last == 'e' || last == 'E') && reading->end - reading->at > 1 &&
			(*reading->at == '-' || *reading->at == '+') &&
			plh_byte_is(reading->at[1], PLH_BYTE_DIGIT))
			reading->at++;
	} while (reading->at < reading->end &&
			 (plh_byte_is(*reading->at, PLH_BYTE_NAME) || *reading->at == '.'));
	put_literal(reading);
}

/* Read a name, which may turn out to say how to read the string behind it. */
static void
read_name(Reading *reading)
{
	const char *at = reading->at;
	const char *end = reading->end;
	char	   *to = reading->to;

	if (is_next(reading, 'e', '\'') || is_next(reading, 'E', '\''))
	{
		reading->at++;
		read_string(reading, true);
		return;
	}

	/* copies: for the compiler, a store could change what is read */
	do
		*to++ = *at++;
	while (at < end && plh_byte_is(*at, PLH_BYTE_NAME));
	reading->at = at;
	reading->to = to;
	reading->in_list = false;
	reading->after_operand = true;
}

static void
read_quoted_name(Reading *reading)
{
	do
		put(reading, *reading->at++);
	while (reading->at < reading->end && *reading->at != '"');
	if (reading->at < reading->end)
		put(reading, *reading->at++);
	reading->in_list = false;
	reading->after_operand = true;
}

/* Is this the sign of a number, rather than an operator? */
static bool
is_sign(const Reading *reading)
{
	return (*reading->at == '-' || *reading->at == '+') &&
		!reading->after_operand && reading->end - reading->at > 1 &&
		plh_byte_is(reading->at[1], PLH_BYTE_DIGIT);
}

/* Read an operator or other punctuation, of which each byte is for itself. */
static void
read_other(Reading *reading)
{
	char		c = *reading->at++;

	put(reading, c);
	if (!plh_byte_is(c, PLH_BYTE_IN_LIST))
		reading->in_list = false;
	reading->after_operand = plh_byte_is(c, PLH_BYTE_CLOSING);
}

/* Read what is no blank, name or number. */
static void
read_special(Reading *reading)
{
	if (is_next(reading, '/', '*') || is_next(reading, '-', '-'))
	{
		reading->at = plh_statement_tokens_read(reading->at, reading->end).end;
		put_blank(reading);
	}
	else if (is_sign(reading))
		reading->at++;
	else if (*reading->at == '\'')
		read_string(reading, false);
	else if (*reading->at == '"')
		read_quoted_name(reading);
	else
		read_other(reading);
}

/* Make the shape of a statement, which is not longer than the statement. */
void
plh_statement_shape_of(PlhStatementShape *shape, const char *text, Size length)
{
	Reading		reading = {
		.at = text,
		.end = text + Min(length, PLH_STATEMENT_MAX),
		.shape = shape->text,
		.to = shape->text
	};

	while (reading.at < reading.end)
	{
		if (plh_byte_is(*reading.at, PLH_BYTE_BLANK))
		{
			reading.at++;
			put_blank(&reading);
		}
		else if (plh_byte_is(*reading.at, PLH_BYTE_DIGIT))
			read_number(&reading);
		else if (plh_byte_is(*reading.at, PLH_BYTE_NAME))
			read_name(&reading);
		else
			read_special(&reading);
	}
	shape->length = reading.to - shape->text;
}

/* The order of two shapes, as of strcmp. */
static int
compare(const PlhStatementShape *left, const PlhStatementShape *right)
{
	if (left->length != right->length)
		return left->length < right->length ? -1 : 1;
	return memcmp(left->text, right->text, left->length);
}

bool
plh_statement_shape_equals(const PlhStatementShape *shape, const char *text, Size length)
{
	PlhStatementShape other;

	plh_statement_shape_of(&other, text, length);
	return compare(shape, &other) == 0;
}

/* The order of two statements by their shapes: 0 if they have the same. */
int
plh_statement_shape_compare(const char *left, Size left_length,
							const char *right, Size right_length)
{
	PlhStatementShape one;
	PlhStatementShape other;

	plh_statement_shape_of(&one, left, left_length);
	plh_statement_shape_of(&other, right, right_length);
	return compare(&one, &other);
}
