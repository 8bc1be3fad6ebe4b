/*
 * redaction.c
 *	  What is shown instead of names and statements in what goes out of the house.
 *
 * A statement is read as tokens.  Where it is not certain where a literal ends, as the text was cut
 * or a setting decides, all that follows is left out.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "profile/statement_tokens.h"
#include "reader/collections.h"
#include "reader/redaction.h"

/* The names that have letters; the first is A. */
typedef struct Names
{
	int			count;
	int			room;
	char	  **names;			/* NULL before there is one */
} Names;

static struct
{
	bool		active;
	MemoryContext memory;		/* of the names; exists while active */
	Names		roles;
	Names		databases;
	Names		applications;
	Names		cursors;
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

bool
plh_redaction_is_on(void)
{
	return state.active;
}

/* A to Z, then AA and so on. */
static const char *
letters_of(int number)
{
	return number < 26 ? psprintf("%c", 'A' + number) :
		psprintf("%s%c", letters_of(number / 26 - 1), 'A' + number % 26);
}

static void
add_name(Names *names, const char *name)
{
	MemoryContext caller_context = MemoryContextSwitchTo(state.memory);

	if (names->names == NULL)
	{
		names->room = 16;
		names->names = palloc(sizeof(char *) * names->room);
	}
	names->names = plh_array_grow(names->names, names->count, &names->room, sizeof(char *));
	names->names[names->count++] = pstrdup(name);
	MemoryContextSwitchTo(caller_context);
}

/* The letters of a name, which gets some if it is new. */
static const char *
letters_for(Names *names, const char *name)
{
	int			number = 0;

	if (!state.active || name == NULL || name[0] == '\0')
		return name;
	while (number < names->count && strcmp(names->names[number], name) != 0)
		number++;
	if (number == names->count)
		add_name(names, name);
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
plh_redaction_cursor(const char *name)
{
	return letters_for(&state.cursors, name);
}

const char *
plh_redaction_content(const char *text)
{
	return state.active || text[0] == '\0' ? NULL : text;
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
		bool		is_literal = token.kind == PLH_TOKEN_STRING || token.kind == PLH_TOKEN_NUMBER;

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
