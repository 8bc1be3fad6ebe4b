/*
 * statement_tokens.h
 *	  The tokens of a statement's text, and whether its first words maintain tables.
 *
 * These functions may be called inside palloc.
 */
#pragma once

#include <limits.h>

/* What a byte may be part of, or begin. */
#define PLH_BYTE_BLANK	(1 << 0)
#define PLH_BYTE_NAME	(1 << 1)	/* a keyword and a parameter, such as $1,
									 * too */
#define PLH_BYTE_DIGIT	(1 << 2)
#define PLH_BYTE_IN_LIST	(1 << 3)	/* between two literals that are one
										 * list */
#define PLH_BYTE_CLOSING	(1 << 4)	/* the end of an operand */

/* A sample in a short statement takes most of its time with its text: so, a look-up per byte. */
extern const uint8 plh_statement_tokens_bytes[UCHAR_MAX + 1];

static inline bool
plh_byte_is(char c, uint8 class)
{
	return (plh_statement_tokens_bytes[(unsigned char) c] & class) != 0;
}

typedef enum PlhTokenKind
{
	PLH_TOKEN_BLANK,
	PLH_TOKEN_COMMENT,
	PLH_TOKEN_STRING,			/* in quotes or dollars */
	PLH_TOKEN_QUOTED_NAME,
	PLH_TOKEN_NUMBER,
	PLH_TOKEN_NAME,				/* a keyword and a parameter, such as $1, too */
	PLH_TOKEN_OTHER				/* one byte */
} PlhTokenKind;

typedef struct PlhToken
{
	PlhTokenKind kind;
	const char *start;
	const char *end;
	bool		is_whole;		/* where it ends is certain */
} PlhToken;

/* Returns the lower case of an ASCII letter; any other byte stays. */
static inline char
plh_statement_tokens_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

extern PlhToken plh_statement_tokens_read(const char *at, const char *end);
extern bool plh_statement_tokens_read_next(PlhToken *token, const char *at, const char *end);
extern bool plh_statement_tokens_is_word(const PlhToken *token, const char *word);

/* Does a statement maintain tables, and do nothing else?  Then maintenance_work_mem limits it. */
extern bool plh_statement_tokens_maintain(const char *text, Size bytes);

/* Does it, or may it beside other things?  Then it may take maintenance_work_mem. */
extern bool plh_statement_tokens_may_maintain(const char *text, Size bytes);

/* Does a text begin with one of those words, in whatever case? */
extern bool plh_statement_tokens_begin_with(const char *text, Size bytes,
											const char *const *words, int count);
