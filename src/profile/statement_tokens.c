/*
 * statement_tokens.c
 *	  The tokens of a statement's text.
 *
 * This code runs inside palloc, where nothing can be parsed, and must do with statements that have
 * not been parsed yet, or never can be.  So it reads tokens as scan.l would.  In Postgres strings
 * that have a backslash before a quote may end there or later, by a setting: where a token may end
 * elsewhere, it says so.
 */
#include "postgres.h"

#include <limits.h>

#include "profile/statement_tokens.h"

/* What a byte may be part of, or begin. */
#define BLANK	(1 << 0)
#define NAME	(1 << 1)
#define DIGIT	(1 << 2)

static const uint8 classes[UCHAR_MAX + 1] = {
	['\t'] = BLANK,['\n'] = BLANK,['\v'] = BLANK,['\f'] = BLANK,['\r'] = BLANK,
	[' '] = BLANK,
	['a'...'z'] = NAME,['A'...'Z'] = NAME,['_'] = NAME,['$'] = NAME,
	[HIGHBIT...UCHAR_MAX] = NAME,
	['0'...'9'] = NAME | DIGIT
};

static inline bool
is_of(char c, uint8 class)
{
	return (classes[(unsigned char) c] & class) != 0;
}

/*
 * Can the byte be part of a name?  A number and a string may begin or go on with such bytes, too.
 */
bool
plh_statement_tokens_in_name(char c)
{
	return is_of(c, NAME);
}

/* Returns the end of a comment, which may have others in it. */
static const char *
comment_end(const char *at, const char *end, bool *is_whole)
{
	int			depth = 0;

	if (*at == '-')
	{
		while (at < end && *at != '\n' && *at != '\r')
			at++;
		return at;
	}
	do
	{
		bool		is_mark = end - at >= 2;

		if (is_mark && at[0] == '/' && at[1] == '*')
			depth++;
		else if (is_mark && at[0] == '*' && at[1] == '/')
			depth--;
		else
			is_mark = false;
		at += is_mark ? 2 : 1;
	} while (depth > 0 && at < end);
	*is_whole = depth == 0;
	return at;
}

/*
 * Returns the end of what stands between quotes, of which a doubled one is none.  Where backslashes
 * may or may not escape, a quote behind one may or may not be the last.
 */
static const char *
quoted_end(const char *at, const char *end, bool has_escapes, bool *is_whole)
{
	char		quote = *at++;

	*is_whole = true;
	for (; at < end; at++)
	{
		if (*at == '\\' && quote == '\'')
		{
			if (has_escapes)
				at++;
			else if (at + 1 < end && at[1] == quote)
				*is_whole = false;
		}
		else if (*at == quote && at + 1 < end && at[1] == quote)
			at++;
		else if (*at == quote)
			return at + 1;
	}
	*is_whole = false;
	return end;
}

/* Returns the end of the mark that a string in dollars begins with; NULL if none does. */
static const char *
dollar_mark_end(const char *at, const char *end)
{
	const char *tag = at + 1;

	for (at = tag; at < end && *at != '$'; at++)
	{
		if (!is_of(*at, NAME) || (at == tag && is_of(*at, DIGIT)))
			return NULL;
	}
	return at < end ? at + 1 : NULL;
}

static const char *
dollar_end(const char *at, const char *end, const char *mark_end, bool *is_whole)
{
	Size		mark = mark_end - at;

	for (const char *next = mark_end; (Size) (end - next) >= mark; next++)
	{
		if (memcmp(next, at, mark) == 0)
			return next + mark;
	}
	*is_whole = false;
	return end;
}

static const char *
while_of(const char *at, const char *end, uint8 class)
{
	while (at < end && is_of(*at, class))
		at++;
	return at;
}

static const char *
number_end(const char *at, const char *end)
{
	do
		at = while_of(at + 1, end, NAME);
	while (end - at > 1 && *at == '.' && is_of(at[1], DIGIT));
	return at;
}

/* Read a name, a number, or a string that begins like a name. */
static void
read_word(PlhToken *token, const char *at, const char *end)
{
	const char *mark_end = *at == '$' ? dollar_mark_end(at, end) : NULL;

	if (mark_end != NULL)
	{
		token->kind = PLH_TOKEN_STRING;
		token->end = dollar_end(at, end, mark_end, &token->is_whole);
	}
	else if (end - at > 1 && plh_statement_tokens_lower(*at) == 'e' && at[1] == '\'')
	{
		token->kind = PLH_TOKEN_STRING;
		token->end = quoted_end(at + 1, end, true, &token->is_whole);
	}
	else if (is_of(*at, DIGIT))
	{
		token->kind = PLH_TOKEN_NUMBER;
		token->end = number_end(at, end);
	}
	else
	{
		token->kind = PLH_TOKEN_NAME;
		token->end = while_of(at, end, NAME);
	}
}

/* Read the token at a place that is not the end. */
PlhToken
plh_statement_tokens_read(const char *at, const char *end)
{
	PlhToken	token = {PLH_TOKEN_OTHER, at, at + 1, true};
	char		next = end - at > 1 ? at[1] : '\0';

	if (is_of(*at, BLANK))
	{
		token.kind = PLH_TOKEN_BLANK;
		token.end = while_of(at, end, BLANK);
	}
	else if (is_of(*at, NAME))
		read_word(&token, at, end);
	else if ((*at == '-' && next == '-') || (*at == '/' && next == '*'))
	{
		token.kind = PLH_TOKEN_COMMENT;
		token.end = comment_end(at, end, &token.is_whole);
	}
	else if (*at == '\'' || *at == '"')
	{
		token.kind = *at == '"' ? PLH_TOKEN_QUOTED_NAME : PLH_TOKEN_STRING;
		token.end = quoted_end(at, end, false, &token.is_whole);
	}
	return token;
}

/* Read the next token that says something; false at the end. */
bool
plh_statement_tokens_read_next(PlhToken *token, const char *at, const char *end)
{
	while (at < end)
	{
		*token = plh_statement_tokens_read(at, end);
		if (token->kind != PLH_TOKEN_BLANK && token->kind != PLH_TOKEN_COMMENT)
			return true;
		at = token->end;
	}
	return false;
}

/* Is a token that word, the first of a list of words in upper case? */
bool
plh_statement_tokens_is_word(const PlhToken *token, const char *word)
{
	const char *at = token->start;

	if (token->kind != PLH_TOKEN_NAME)
		return false;
	while (at < token->end &&
		   plh_statement_tokens_lower(*at) == plh_statement_tokens_lower(*word) && *word != ' ')
	{
		at++;
		word++;
	}
	return at == token->end && (*word == '\0' || *word == ' ');
}
