/*
 * statement_tokens.h
 *	  The tokens of a statement's text.
 *
 * These functions may be called inside palloc.
 */
#pragma once

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

extern bool plh_statement_tokens_in_name(char c);
extern PlhToken plh_statement_tokens_read(const char *at, const char *end);
extern bool plh_statement_tokens_read_next(PlhToken *token, const char *at, const char *end);
extern bool plh_statement_tokens_is_word(const PlhToken *token, const char *word);
