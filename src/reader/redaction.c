/*
 * redaction.c
 *	  What is shown instead of names and statements in what goes out of the house.
 *
 * A statement is read as tokens.  Where it is not certain where a literal ends, as the
 * text was cut or a setting decides, all that follows is left out.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "profile/statement_tokens.h"
#include "reader/redaction.h"

/* Of the names that have letters, the first is A. */
static struct
{
	bool		active;
	MemoryContext memory;		/* of the names; exists while active */
	List	   *roles;
	List	   *databases;
	List	   *applications;
}			state;

void
plh_redaction_begin(bool redact)
{
	plh_redaction_end();
	if (!redact)
		return;
	state.memory = AllocSetContextCreate(TopMemoryContext, "pg_leakhunt redaction",
										 ALLOCSET_SMALL_SIZES);
	state.active = true;
}

void
plh_redaction_end(void)
{
	if (state.memory != NULL)
		MemoryContextDelete(state.memory);
	memset(&state, 0, sizeof(state));
}

/* A to Z, then AA and so on. */
static const char *
letters_of(int number)
{
	return number < 26 ? psprintf("%c", 'A' + number) :
		psprintf("%s%c", letters_of(number / 26 - 1), 'A' + number % 26);
}

/* The letters of a name, which gets some if it is new. */
static const char *
letters_for(List **names, const char *name)
{
	MemoryContext caller_context;
	ListCell   *cell;
	int			number = 0;

	if (!state.active || name == NULL || name[0] == '\0')
		return name;
	foreach(cell, *names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return letters_of(number);
		number++;
	}
	caller_context = MemoryContextSwitchTo(state.memory);
	*names = lappend(*names, pstrdup(name));
	MemoryContextSwitchTo(caller_context);
	return letters_of(number);
}

const char *
plh_redaction_role(const char *name)
{
	return letters_for(&state.roles, name);
}

const char *
plh_redaction_database(const char *name)
{
	return letters_for(&state.databases, name);
}

const char *
plh_redaction_application(const char *name)
{
	return letters_for(&state.applications, name);
}

const char *
plh_redaction_statement(const char *text)
{
	char	   *redacted;
	char	   *to;
	const char *end;

	if (!state.active || text == NULL)
		return text;
	end = text + strlen(text);
	/* a literal of one byte becomes one byte, and three may follow */
	to = redacted = palloc(end - text + 4);
	while (text < end)
	{
		PlhToken	token = plh_statement_tokens_read(text, end);
		bool		is_literal = token.kind == PLH_TOKEN_STRING ||
			token.kind == PLH_TOKEN_NUMBER;

		if (is_literal)
			*to++ = '?';
		else if (token.kind == PLH_TOKEN_COMMENT)
			*to++ = ' ';
		else
		{
			memcpy(to, token.start, token.end - token.start);
			to += token.end - token.start;
		}
		if (!token.is_whole && (is_literal || token.kind == PLH_TOKEN_COMMENT))
		{
			memcpy(to, "...", 3);
			to += 3;
			break;
		}
		text = token.end;
	}
	*to = '\0';
	return redacted;
}
