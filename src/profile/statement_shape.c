/*
 * statement_shape.c
 *	  What is left of a statement's text without its literals: by that,
 *	  statements are told apart where core computes no query id.
 *
 * This code runs inside palloc, where nothing can be parsed.  So this is a
 * guess by the bytes, as scan.l would see them: numbers and strings become one
 * mark, and so do several of them in a list; comments and blanks become one
 * blank.  Where the guess is wrong, two statements are taken for one, or one
 * for two.  Bytes of characters outside of ASCII have their high bit set in
 * all encodings of a server.
 */
#include "postgres.h"

#include "profile/statement_shape.h"

#define LITERAL_MARK '?'

/* A text that is read, and the shape that is made of it. */
typedef struct Reading
{
	const char *at;
	const char *end;
	PlhStatementShape *shape;
	Size		literal_end;	/* of the shape's last literal */
	bool		in_list;		/* since it, nothing but , ( ) */
	bool		after_operand;	/* so that a sign is an operator */
} Reading;

static inline bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* May a name go on with that, be it a keyword or a parameter, such as $1? */
static inline bool
is_in_name(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || is_digit(c) ||
		c == '_' || c == '$' || IS_HIGHBIT_SET(c);
}

/* Do these two bytes come next? */
static inline bool
is_next(const Reading *reading, char first, char second)
{
	return reading->end - reading->at >= 2 &&
		reading->at[0] == first && reading->at[1] == second;
}

static inline void
put(Reading *reading, char c)
{
	reading->shape->text[reading->shape->length++] = c;
}

/* A literal that follows another in a list is the same one. */
static void
put_literal(Reading *reading)
{
	if (reading->in_list)
		reading->shape->length = reading->literal_end;
	else
		put(reading, LITERAL_MARK);
	reading->literal_end = reading->shape->length;
	reading->in_list = true;
	reading->after_operand = true;
}

static void
put_blank(Reading *reading)
{
	const PlhStatementShape *shape = reading->shape;

	if (shape->length > 0 && shape->text[shape->length - 1] != ' ')
		put(reading, ' ');
}

/* Skip a comment, which may have others in it. */
static void
skip_comment(Reading *reading)
{
	int			depth = 0;

	do
	{
		if (is_next(reading, '/', '*'))
		{
			depth++;
			reading->at += 2;
		}
		else if (is_next(reading, '*', '/'))
		{
			depth--;
			reading->at += 2;
		}
		else
			reading->at++;
	} while (depth > 0 && reading->at < reading->end);
}

static void
skip_line(Reading *reading)
{
	while (reading->at < reading->end && *reading->at != '\n')
		reading->at++;
}

/*
 * Read a string, from its first quote on.  A doubled quote in it ends one and
 * begins the next, which comes to the same.
 */
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
			is_digit(reading->at[1]))
			reading->at++;
	} while (reading->at < reading->end &&
			 (is_in_name(*reading->at) || *reading->at == '.'));
	put_literal(reading);
}

/* Read a name, which may turn out to say how to read the string behind it. */
static void
read_name(Reading *reading)
{
	const char *start = reading->at;

	if (is_next(reading, 'e', '\'') || is_next(reading, 'E', '\''))
	{
		reading->at++;
		read_string(reading, true);
		return;
	}
	while (reading->at < reading->end && is_in_name(*reading->at))
		reading->at++;
	memcpy(reading->shape->text + reading->shape->length, start,
		   reading->at - start);
	reading->shape->length += reading->at - start;
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
		!reading->after_operand &&
		reading->end - reading->at > 1 && is_digit(reading->at[1]);
}

/* Read an operator or other punctuation, of which each byte is for itself. */
static void
read_other(Reading *reading)
{
	char		c = *reading->at++;

	put(reading, c);
	if (c != ',' && c != '(' && c != ')')
		reading->in_list = false;
	reading->after_operand = c == ')' || c == ']';
}

/*
 * Make the shape of a statement, which is not longer than the statement.
 */
void
plh_statement_shape_of(PlhStatementShape *shape, const char *text, Size length)
{
	Reading		reading = {
		.at = text,
		.end = text + Min(length, PLH_STATEMENT_MAX),
		.shape = shape
	};

	shape->length = 0;
	while (reading.at < reading.end)
	{
		char		c = *reading.at;

		if (is_blank(c))
		{
			reading.at++;
			put_blank(&reading);
		}
		else if (is_next(&reading, '/', '*'))
		{
			skip_comment(&reading);
			put_blank(&reading);
		}
		else if (is_next(&reading, '-', '-'))
		{
			skip_line(&reading);
			put_blank(&reading);
		}
		else if (is_sign(&reading))
			reading.at++;
		else if (is_digit(c))
			read_number(&reading);
		else if (c == '\'')
			read_string(&reading, false);
		else if (c == '"')
			read_quoted_name(&reading);
		else if (is_in_name(c))
			read_name(&reading);
		else
			read_other(&reading);
	}
}

/* The order of two shapes, as of strcmp. */
static int
compare(const PlhStatementShape *left, const PlhStatementShape *right)
{
	if (left->length != right->length)
		return left->length < right->length ? -1 : 1;
	return memcmp(left->text, right->text, left->length);
}

/*
 * Has a statement that shape?
 */
bool
plh_statement_shape_equals(const PlhStatementShape *shape,
						   const char *text, Size length)
{
	PlhStatementShape other;

	plh_statement_shape_of(&other, text, length);
	return compare(shape, &other) == 0;
}

/*
 * The order of two statements by their shapes: 0 if they have the same.
 */
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
