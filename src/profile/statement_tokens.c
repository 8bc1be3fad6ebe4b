/*
 * statement_tokens.c
 *	  The tokens of a statement's text, and whether its first words maintain tables.
 *
 * This code runs inside palloc, where nothing can be parsed, and must do with statements that have
 * not been parsed yet, or never can be.  So it reads tokens as scan.l would.  In Postgres strings
 * that have a backslash before a quote may end there or later, by a setting: where a token may end
 * elsewhere, it says so.
 */
#include "postgres.h"

#include "profile/statement_tokens.h"

const uint8 plh_statement_tokens_bytes[UCHAR_MAX + 1] = {
	['\t'] = PLH_BYTE_BLANK,['\n'] = PLH_BYTE_BLANK,['\v'] = PLH_BYTE_BLANK,
	['\f'] = PLH_BYTE_BLANK,['\r'] = PLH_BYTE_BLANK,[' '] = PLH_BYTE_BLANK,
	['a'...'z'] = PLH_BYTE_NAME,['A'...'Z'] = PLH_BYTE_NAME,['_'] = PLH_BYTE_NAME,
	['$'] = PLH_BYTE_NAME,[HIGHBIT...UCHAR_MAX] = PLH_BYTE_NAME,
	['0'...'9'] = PLH_BYTE_NAME | PLH_BYTE_DIGIT,
	[','] = PLH_BYTE_IN_LIST,['('] = PLH_BYTE_IN_LIST,
	[')'] = PLH_BYTE_IN_LIST | PLH_BYTE_CLOSING,[']'] = PLH_BYTE_CLOSING
};

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
		if (!plh_byte_is(*at, PLH_BYTE_NAME) || (at == tag && plh_byte_is(*at, PLH_BYTE_DIGIT)))
			return NULL;
	}
	return at < end ? at + 1 : NULL;
}

static const char *
dollar_end(const char *at, const char *end, const char *mark_end, bool *is_whole)
{
	Size		mark = mark_end - at;
	const char *found = memmem(mark_end, end - mark_end, at, mark);

	*is_whole = found != NULL;
	return found != NULL ? found + mark : end;
}

static const char *
while_of(const char *at, const char *end, uint8 class)
{
	while (at < end && plh_byte_is(*at, class))
		at++;
	return at;
}

static const char *
number_end(const char *at, const char *end)
{
	do
		at = while_of(at + 1, end, PLH_BYTE_NAME);
	while (end - at > 1 && *at == '.' && plh_byte_is(at[1], PLH_BYTE_DIGIT));
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
	else if (plh_byte_is(*at, PLH_BYTE_DIGIT))
	{
		token->kind = PLH_TOKEN_NUMBER;
		token->end = number_end(at, end);
	}
	else
	{
		token->kind = PLH_TOKEN_NAME;
		token->end = while_of(at, end, PLH_BYTE_NAME);
	}
}

/* Read the token at a place that is not the end. */
PlhToken
plh_statement_tokens_read(const char *at, const char *end)
{
	PlhToken	token = {PLH_TOKEN_OTHER, at, at + 1, true};
	char		next = end - at > 1 ? at[1] : '\0';

	if (plh_byte_is(*at, PLH_BYTE_BLANK))
	{
		token.kind = PLH_TOKEN_BLANK;
		token.end = while_of(at, end, PLH_BYTE_BLANK);
	}
	else if (plh_byte_is(*at, PLH_BYTE_NAME))
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

/* Statements that begin with these words build an index, or vacuum. */
static const char *const maintaining_words[] = {
	"cluster", "create index", "create unique index", "reindex", "repack", "vacuum"
};

/* And these may do so, but do other things as well, such as running a query. */
static const char *const partly_maintaining_words[] = {
	"alter index", "alter materialized view", "alter table", "analyze", "refresh"
};

bool
plh_statement_tokens_begin_with(const char *text, Size bytes, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
	{
		Size		length = strlen(words[i]);

		if (bytes >= length && pg_strncasecmp(text, words[i], length) == 0)
			return true;
	}
	return false;
}

/* How many bytes there are before the first word. */
static Size
leading_blanks(const char *text, Size bytes)
{
	Size		blanks = 0;

	while (blanks < bytes && strchr(" \t\r\n(", text[blanks]) != NULL)
		blanks++;
	return blanks;
}

bool
plh_statement_tokens_maintain(const char *text, Size bytes)
{
	Size		blanks = leading_blanks(text, bytes);

	return plh_statement_tokens_begin_with(text + blanks, bytes - blanks, maintaining_words,
										   lengthof(maintaining_words));
}

bool
plh_statement_tokens_may_maintain(const char *text, Size bytes)
{
	Size		blanks = leading_blanks(text, bytes);

	return plh_statement_tokens_maintain(text, bytes) ||
		plh_statement_tokens_begin_with(text + blanks, bytes - blanks, partly_maintaining_words,
										lengthof(partly_maintaining_words));
}
